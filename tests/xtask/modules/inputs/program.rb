# Blocks, exceptions, catch and throw, regular expressions, big integers.
Point = Struct.new(:x, :y) do
  include Comparable
  def <=>(other) = [x, y] <=> [other.x, other.y]
end

points = (1..20_000).map { |i| Point.new(i * 7919 % 101, i * 31 % 17) }
puts points.sort.first(3).inspect, points.max.inspect
puts points.group_by(&:y).transform_values(&:count).sort.inspect
fibonacci = Hash.new { |hash, n| hash[n] = n < 2 ? n : hash[n - 1] + hash[n - 2] }
puts fibonacci[150]
puts catch(:found) { points.each_with_index { |point, i| throw :found, i if point.x == 42 }; nil }
rescued = (0...20_000).count { |i| Integer(i.even? ? i.to_s : "x#{i}") && false rescue true }
puts rescued
puts "the quick brown fox".gsub(/(\w)(\w*)/) { "#{$1.upcase}#{$2.reverse}" }
puts 2**200 % 997, 1e300 * 1e10, (1..20).inject(:*)
puts "end"
