//! Readers that show bytes, columns and numbers.

use super::{reader, with};
use crate::programs::table::{Operands, OptionEffect, Program};

pub const DUMPS: &[Program] = &[
    reader(
        &["od"],
        "A:j:N:S:t:vw::abcdfhilosxBDFHILOX",
        "address-radix= endian= skip-bytes= read-bytes= strings=? format= output-duplicates width=? \
         traditional help version",
        Operands::Read,
    ),
    with(
        &["hexdump", "hd"],
        "bcCdn:os:vxXe:f:hV",
        "one-byte-octal one-byte-hex one-byte-char canonical two-bytes-decimal two-bytes-octal two-bytes-hex \
         color=? format= format-file= length= skip= no-squeezing help version",
        Operands::Read,
        &[("f", OptionEffect::Reads), ("format-file", OptionEffect::Reads)],
    ),
    reader(&["base64", "base32"], "diw:", "decode ignore-garbage wrap= help version", Operands::Read),
    reader(
        &["strings"],
        "adfn:ot:e:T:s:wU:hvV0123456789",
        "all data print-file-name bytes= radix= target= encoding= output-separator= include-all-whitespace \
         unicode= help version",
        Operands::Read,
    ),
    reader(
        &["column"],
        "c:s:o:txJN:R:T:H:",
        "output-width= separator= output-separator= table fillrows json table-columns= table-right= \
         table-truncate= table-hide= help version",
        Operands::Read,
    ),
    reader(&["paste"], "d:sz", "delimiters= serial zero-terminated help version", Operands::Read),
    reader(
        &["comm"],
        "123z",
        "check-order nocheck-order output-delimiter= total zero-terminated help version",
        Operands::Read,
    ),
    reader(
        &["join"],
        "a:e:i1:2:j:o:t:v:z",
        "ignore-case check-order nocheck-order header zero-terminated help version",
        Operands::Read,
    ),
    reader(&["tac"], "brs:", "before regex separator= help version", Operands::Read),
    reader(&["rev"], "hV", "help version", Operands::Read),
    reader(&["fold"], "bsw:0123456789", "bytes spaces width= help version", Operands::Read),
    reader(
        &["expand", "unexpand"],
        "ait:0123456789,",
        "all first-only initial tabs= help version",
        Operands::Read,
    ),
    reader(&["seq"], "f:s:w0123456789.", "format= separator= equal-width help version", Operands::Text),
    reader(&["nproc"], "", "all ignore= help version", Operands::Text),
    reader(
        &["free"],
        "bkmghs:c:tlwvLV",
        "bytes kilo mega giga tera peta kibi mebi gibi tebi pebi human si lohi line total committed seconds= \
         count= wide help version",
        Operands::Text,
    ),
    reader(&["sleep"], "", "help version", Operands::Text),
];
