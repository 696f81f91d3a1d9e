// A counter that a button holds, with its value as Gray code.
module counter (input clk, input hold, output reg [3:0] gray);
  reg [3:0] value = 0;
  always @(posedge clk) begin
    if (!hold) value <= value + 1;
    gray <= value ^ (value >> 1);
  end
endmodule
