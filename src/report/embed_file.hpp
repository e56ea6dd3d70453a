// Embeds a file in the program: the assembler includes it verbatim between symbol_begin and symbol_end. CMake names the
// files and rebuilds the source when they change (cmake/EmbedWebFiles.cmake).
#pragma once

#define ISENTROPIC_EMBED(symbol, file)                                                                             \
  asm(".pushsection .rodata\n" #symbol "_begin:\n.incbin \"" file "\"\n" #symbol "_end:\n.byte 0\n.popsection\n"); \
  extern "C" __attribute__((visibility("hidden"))) const char symbol##_begin[], symbol##_end[];
