# Writes OUTPUT, a source file that holds the texts of FILES (data/KIND/NAME.toml, separated by |) for
# sim/cost/data_file.h. Run at build time: cmake -DOUTPUT=... -DFILES=... -P embed.cmake
string(REPLACE "|" ";" FILES "${FILES}")
set(entries "")
set(count 0)
foreach(path ${FILES})
  get_filename_component(file ${path} NAME)
  string(REGEX REPLACE "\\.toml$" "" name ${file})
  get_filename_component(folder ${path} DIRECTORY)
  get_filename_component(kind ${folder} NAME)
  file(READ ${path} text)
  string(APPEND entries "    {\"${kind}\", \"${name}\", R\"baton(${text})baton\"},\n")
  math(EXPR count "${count} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Made by data/embed.cmake.
#include \"sim/cost/data_file.h\"

namespace baton::sim {

const EmbeddedFile kEmbeddedFiles[] = {
${entries}};
const std::size_t kEmbeddedFileCount = ${count};

}  // namespace baton::sim
")
