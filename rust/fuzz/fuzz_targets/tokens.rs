#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| hedgerow_fuzz::tokens(input));
