rs_require(PROTOBUF_C libprotobuf-c)
find_program(RS_PROTOC_C protoc-c)
if(NOT RS_PROTOC_C)
  list(APPEND RS_MISSING protoc-c)
endif()
list(APPEND RS_PACK_DEPENDENCIES PkgConfig::PROTOBUF_C)

# The Chakra messages: made from our schema, and not held to the warnings of what is written by hand.
set(RS_PROTO_DIR ${CMAKE_CURRENT_BINARY_DIR}/proto)
set(rs_proto_files ${RS_PROTO_DIR}/et_def.pb-c.c ${RS_PROTO_DIR}/et_def.pb-c.h)
file(MAKE_DIRECTORY ${RS_PROTO_DIR})
add_custom_command(
  OUTPUT ${rs_proto_files}
  COMMAND ${RS_PROTOC_C} --proto_path=${folder} --c_out=${RS_PROTO_DIR} et_def.proto
  DEPENDS ${folder}/et_def.proto
  VERBATIM)
set_source_files_properties(${rs_proto_files} PROPERTIES COMPILE_OPTIONS -w)
list(APPEND RS_PACK_SOURCES ${rs_proto_files})
list(APPEND RS_PACK_MADE_INCLUDES ${RS_PROTO_DIR})

# The established tools' names: the program does what its own sub-commands do (cli/cmd_chakra_shims.c).
list(APPEND RS_PROGRAM_NAMES chakra_trace_link chakra_converter chakra_jsonizer chakra_visualizer chakra_timeline_visualizer
            chakra_generator)
