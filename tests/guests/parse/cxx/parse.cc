#include <cassert>
#include <string>
#include <vector>

void parse(const std::string &text) {
    std::vector<std::string> levels;
    for (size_t at = 0; at < text.size() && text[at] == '['; at++) {
        levels.push_back(text.substr(at));
        assert(levels.size() < 3);
    }
}
