// Damaged tokenizer.json files, parsed and used if valid: fuzz_tokenizer SECONDS [FIRST INPUT].
#include <stdexcept>

#include "fuzz/run_for.hpp"
#include "tokenizer/tokenizer.hpp"
#include "tokenizer/utf8.hpp"

namespace isentropic::tokenizer {
namespace {

void require(bool condition, const char* what) {
  if (!condition) throw std::logic_error(what);
}

void check_decoding(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids, bool skip) {
  const std::string text = tokenizer.decode(ids, skip);
  require(invalid_utf8_at(text) == text.size(), "a decoded text that is not UTF-8");
  StreamDecoder stream(tokenizer, skip);
  std::string streamed;
  for (const std::int32_t id : ids) {
    const std::string part = stream.put(id);
    require(invalid_utf8_at(part) == part.size(), "a part of a text that is not UTF-8");
    streamed += part;
  }
  require(streamed + stream.finish() == text, "a stream that differs from the whole");
}

const char* const kByteLevel = R"({"version":"1.0","added_tokens":[
{"id":9,"content":"<s>","single_word":false,"lstrip":true,"rstrip":false,"normalized":false,"special":true},
{"id":10,"content":"x y","single_word":true,"lstrip":false,"rstrip":true,"normalized":true,"special":false}],
"normalizer":{"type":"NFC"},
"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":
"(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true}]},
"post_processor":{"type":"Sequence","processors":[{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false},
{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
"pair":[],"special_tokens":{"<s>":{"id":"<s>","ids":[9],"tokens":["<s>"]}}}]},
"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true},
"model":{"type":"BPE","dropout":null,"unk_token":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":true,
"vocab":{"a":0,"b":1,"ab":2,"\u0120":3,"\u0120a":4,"aba":5,"\u00c3":6,"\u00a9":7,"\u00c3\u00a9":8},
"merges":["a b",["\u0120","a"],"ab a","\u00c3 \u00a9"]}})";

const char* const kByteFallback = R"({"added_tokens":[
{"id":0,"content":"<unk>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
"normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"\u2581"},{"type":"Replace",
"pattern":{"String":" "},"content":"\u2581"},{"type":"Strip","strip_left":true,"strip_right":true},{"type":"NFKC"}]},
"pre_tokenizer":{"type":"Metaspace","replacement":"\u2581","prepend_scheme":"first","split":true},
"post_processor":{"type":"RobertaProcessing","sep":["<unk>",0],"cls":["<unk>",0],"trim_offsets":true},
"decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"Regex":"\u2581+"},"content":" "},
{"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":2}]},
"model":{"type":"BPE","unk_token":"<unk>","fuse_unk":true,"byte_fallback":true,"end_of_word_suffix":null,
"vocab":{"<unk>":0,"\u2581":1,"a":2,"b":3,"ab":4,"\u2581ab":5,"<0xC3>":6,"<0xA9>":7,"<0x0A>":8},
"merges":["a b","\u2581 ab"]}})";

const char* const kWordPiece = R"({"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,
"strip_accents":null,"lowercase":true},"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"BertPreTokenizer"},
{"type":"Whitespace"},{"type":"Digits","individual_digits":true},{"type":"Punctuation","behavior":"MergedWithNext"}]},
"post_processor":{"type":"BertProcessing","sep":["[SEP]",1],"cls":["[CLS]",2]},
"decoder":{"type":"WordPiece","prefix":"##","cleanup":true},
"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":10,
"vocab":{"[UNK]":0,"[SEP]":1,"[CLS]":2,"un":3,"##aff":4,"##able":5,"a":6,"##b":7,"1":8}}})";

// Parts missing from the others, for the mutator to draw from.
const char* const kParts = R"parts([{"type":"Lowercase"},{"type":"StripAccents"},{"type":"NFD"},{"type":"NFKD"},
{"type":"ByteLevel"},{"type":"WhitespaceSplit"},{"type":"BPEDecoder","suffix":"</w>"},{"type":"Metaspace","replacement":
"\u2581","add_prefix_space":false},"MergedWithPrevious","Contiguous","Removed","invert":true,"continuing_subword_prefix":
"##","end_of_word_suffix":"b","Regex":"(a+)+$","(?=a)","\\b","\\p{Han}","[[:alpha:]]","[^\\S]","(?<=a)","(?R)","a*","{,3}"])parts";

const char* const kText = "ab aba  \xC3\xA9 unaffable x y <s> 12\n\xE4\xB8\xAD e\xCC\x81 \xF0\x9F\x98\x80";

// The bytes are a tokenizer.json, followed after the last NUL by a text to encode.
void read_and_drive(const std::string& input) {
  const std::string_view bytes = input;
  const std::size_t end = bytes.rfind('\0');
  const std::string_view text = end == std::string_view::npos ? kText : bytes.substr(end + 1);
  const Tokenizer tokenizer = Tokenizer::from_json(bytes.substr(0, end));
  std::vector<std::int32_t> ids = tokenizer.encode(text);
  for (const std::int32_t id : ids) require(id >= 0 && id < tokenizer.vocabulary_size(), "an id out of range");
  require(tokenizer.encode(text, false).size() <= ids.size(), "special tokens that were not asked for");
  for (std::int32_t id = 0; id < std::min(tokenizer.vocabulary_size(), 300); ++id) ids.push_back(id);
  check_decoding(tokenizer, ids, false);
  check_decoding(tokenizer, ids, true);
}

std::vector<std::string> examples() {
  std::vector<std::string> out;
  for (const char* json : {kByteLevel, kByteFallback, kWordPiece}) {
    out.push_back(json);
    out.push_back(json + std::string(1, '\0') + kText);
  }
  out.push_back(kParts);
  return out;
}

}  // namespace
}  // namespace isentropic::tokenizer

int main(int count, char** arguments) {
  using namespace isentropic;
  return fuzz::run_for(count, arguments, fuzz::Mutator(tokenizer::examples()), tokenizer::read_and_drive);
}
