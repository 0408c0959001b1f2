//! Tokenizing texts of many scripts, in bytes a second; texts in ASCII also with `porter
//! unicode61`.

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput};
use hedgerow_engine::text::tokenizer::TokenizerKind;
use hedgerow_engine::text::words::Mode;
use unicode_normalization::UnicodeNormalization;

/// The bytes of a text.
const BYTES: usize = 4_096;

const TEXTS: [(&str, &str); 17] = [
    (
        "english",
        "The hedgehogs sleep under the hedge of the garden, and wake when it is warm again. ",
    ),
    (
        "german",
        "Die Hecken im Garten überwintern häufig, meinen Gärtner über dürre Äste. ",
    ),
    (
        "russian",
        "Ежи спят под программными кустами и просыпаются весной. ",
    ),
    (
        "greek",
        "Οι σκαντζόχοιροι κοιμούνται κάτω από τους θάμνους. ",
    ),
    ("arabic", "القنفذ ينام في المكتبة والكتاب على الطاولة. "),
    ("hindi", "लोग सर्दियों में किताबें पढ़ते हैं और चाय पीते हैं। "),
    ("chinese", "刺猬在树篱下冬眠，春天醒来以后在花园里找食物。"),
    (
        "japanese",
        "ハリネズミは生け垣の下で冬眠し、春になると目を覚ます。",
    ),
    (
        "korean",
        "고슴도치는 울타리 아래에서 겨울잠을 자고 봄에 깨어난다. ",
    ),
    ("thai", "เม่นจำศีลใต้พุ่มไม้ในฤดูหนาวและตื่นขึ้นในฤดูใบไม้ผลิ "),
    (
        "vietnamese",
        "Nhím ngủ đông dưới hàng rào và thức dậy vào mùa xuân. ",
    ),
    ("hebrew", "הקיפודים ישנים מתחת לגדר החיה ומתעוררים באביב. "),
    ("hebrew, pointed", "הַקִּפּוֹדִים יְשֵׁנִים מִתַּחַת לַגָּדֵר הַחַיָּה. "),
    (
        "arabic, pointed",
        "القُنْفُذُ يَنَامُ فِي المَكْتَبَةِ وَالكِتَابُ عَلَى الطَّاوِلَةِ. ",
    ),
    ("bengali", "শজারু শীতকালে ঝোপের নিচে ঘুমায় এবং বসন্তে জেগে ওঠে। "),
    ("khmer", "សត្វកាំប្រមាដេកនៅក្រោមរបងក្នុងរដូវរងា។ "),
    (
        "japanese, half width",
        "ﾊﾘﾈｽﾞﾐﾊ ｲｹｶﾞｷﾉ ｼﾀﾃﾞ ﾄｳﾐﾝｼ､ ﾊﾙﾆ ﾒｦｻﾏｽ｡ ",
    ),
];

pub fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tokenizing");
    for (name, sentence) in TEXTS {
        measure(&mut group, name, sentence);
    }
    // As names and texts of macOS have it.
    for (name, sentence) in TEXTS {
        let decomposed: String = sentence.nfd().collect();
        if decomposed != sentence {
            measure(&mut group, &format!("{name}, decomposed"), &decomposed);
        }
    }
    group.finish();
}

fn measure(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, sentence: &str) {
    let text = sentence.repeat(BYTES / sentence.len() + 1);
    group.throughput(Throughput::Bytes(text.len() as u64));
    let kinds: &[TokenizerKind] = if text.is_ascii() {
        &[TokenizerKind::Words, TokenizerKind::Porter]
    } else {
        &[TokenizerKind::Words]
    };
    for kind in kinds {
        group.bench_function(format!("{name}, {}", kind.as_str()), |bencher| {
            bencher.iter(|| {
                let mut tokens = 0_usize;
                kind.tokenize(black_box(&text), Mode::Document, |_| {
                    tokens += 1;
                    true
                })
                .unwrap();
                tokens
            });
        });
    }
}
