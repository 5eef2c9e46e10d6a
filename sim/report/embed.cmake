# Writes OUTPUT, a source file that holds the text of INPUT for sim/report/html_page.h. Run at build time:
# cmake -DOUTPUT=... -DINPUT=... -P embed.cmake
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "// Made by sim/report/embed.cmake.
#include \"sim/report/html_page.h\"

namespace baton::sim {

const std::string_view kPageText = R\"baton(${text})baton\";

}  // namespace baton::sim
")
