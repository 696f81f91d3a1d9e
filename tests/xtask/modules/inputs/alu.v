// A small processor's arithmetic unit with a register file and a state machine around it.
module alu #(parameter WIDTH = 16) (
  input [2:0] op, input [WIDTH-1:0] a, input [WIDTH-1:0] b, output reg [WIDTH-1:0] y, output zero
);
  always @* begin
    case (op)
      0: y = a + b;
      1: y = a - b;
      2: y = a & b;
      3: y = a | b;
      4: y = a ^ b;
      5: y = a << b[3:0];
      6: y = $signed(a) >>> b[3:0];
      default: y = a * b;
    endcase
  end
  assign zero = y == 0;
endmodule

module top (input clk, input reset, input [8:0] instruction, output [15:0] result, output reg [1:0] state);
  localparam FETCH = 0, EXECUTE = 1, STORE = 2, HALT = 3;
  reg [15:0] registers [0:7];
  reg [15:0] a, b;
  wire zero;
  alu #(.WIDTH(16)) unit (.op(instruction[8:6]), .a(a), .b(b), .y(result), .zero(zero));
  always @(posedge clk) begin
    if (reset) state <= FETCH;
    else case (state)
      FETCH: begin
        a <= registers[instruction[5:3]];
        b <= registers[instruction[2:0]];
        state <= EXECUTE;
      end
      EXECUTE: state <= zero ? HALT : STORE;
      STORE: begin
        registers[instruction[5:3]] <= result;
        state <= FETCH;
      end
      HALT: state <= HALT;
    endcase
  end
endmodule
