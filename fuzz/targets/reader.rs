#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| postil_fuzz::reads(data));
