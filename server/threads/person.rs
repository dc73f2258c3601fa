//! Whether a text is nothing but who somebody is (name, address, organisation, year), as file headers
//! say it, or something said to an agent.
//!
//! The two tiers answer two places. Above a file's first code a lone name is a header, so there it
//! must look like one by itself; among a header's fields a looser look is enough.

use std::collections::HashSet;
use std::sync::OnceLock;

/// How a text reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    Nothing,
    /// Somebody's name, organisation or address.
    Person,
    /// Could be one; believed among the fields of a header only.
    PerhapsPerson,
    /// A question, an order, a sentence.
    Speech,
}

/// Reads one text, all its lines.
pub(super) fn read(text: &str) -> Reads {
    // Below a name, a header tells addresses, changes, the licence.
    if let Some((first, rest)) = text.trim().split_once('\n')
        && !rest.contains(['?', '？', '؟'])
        && first.split_whitespace().count() > 1
        && read_line(first) == Reads::Person
    {
        return Reads::Person;
    }
    read_line(text)
}

fn read_line(text: &str) -> Reads {
    let text = text.trim();
    if text.is_empty() {
        return Reads::Nothing;
    }
    if is_addressed(text) || has_a_part(text) || has_a_login(text) {
        return Reads::Person;
    }
    // What most messages have, looked for first.
    if text.contains(SPEECH) || text.len() > 600 || super::action_word(text).is_some() {
        return Reads::Speech;
    }
    let lower = text.to_lowercase();
    if is_placeholder(&lower) {
        return Reads::Person;
    }
    if ["()", "::", "->", "=>", "=="]
        .iter()
        .any(|code| text.contains(code))
    {
        return Reads::Speech;
    }
    if lower.starts_with("see ")
        && [
            "author",
            "credit",
            "contributor",
            "maintainer",
            "git",
            "copyright",
        ]
        .iter()
        .any(|file| lower.contains(file))
    {
        return Reads::PerhapsPerson;
    }
    let mut count = Count {
        apart: text.contains([',', '(', '[', '©']),
        ..Count::default()
    };
    for raw in text.split(|c: char| {
        c.is_whitespace()
            || matches!(
                c,
                ',' | ';'
                    | '/'
                    | '&'
                    | '('
                    | ')'
                    | '['
                    | ']'
                    | '<'
                    | '>'
                    | '"'
                    | '|'
                    | '*'
                    | '+'
                    | '«'
                    | '»'
                    | '、'
                    | '，'
            )
    }) {
        let word = raw.trim_matches(|c: char| {
            matches!(
                c,
                '.' | ':' | '-' | '\'' | '–' | '—' | '_' | '~' | '=' | '#'
            )
        });
        if raw.ends_with('.') && word.len() == 1 && word.chars().all(char::is_uppercase) {
            count.words += 1;
            count.capitals += 1;
        } else if !word.is_empty() && !count.add(word) {
            return Reads::Speech;
        }
    }
    count.verdict()
}

/// Two names or more and an address (`Waiman Long <longman@example.org>, after qrwlock.c`): a person whatever
/// the names mean as words, and whatever is told behind, as long as nothing is asked or ordered there.
fn is_addressed(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let mut names = 0;
    let mut comma = false;
    loop {
        let Some(word) = words.next() else {
            return false;
        };
        if names > 1 && word.contains('@') && (comma || word.starts_with('<')) {
            break;
        }
        comma = word.ends_with(',');
        let word = word.trim_end_matches([',', '.']);
        let lower = word.to_lowercase();
        let is_name = word.chars().next().is_some_and(char::is_uppercase)
            && word
                .chars()
                .all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '.'));
        let is_order = names == 0 && ORDERS.has(&lower) && !ALSO_NAMES.has(&lower);
        // `Enric Balletbo i Serra`
        if !(is_name && !is_order || names > 0 && (PARTICLES.has(&lower) || word == "i")) {
            return false;
        }
        names += 1;
        if names > 6 {
            return false;
        }
    }
    !text.contains(['?', '？', '؟', '`', '!'])
        && words.all(|word| {
            let lower = word
                .trim_matches(|c: char| !c.is_alphanumeric())
                .to_lowercase();
            !STOP.has(&lower) && !ORDERS.has(&lower)
        })
}

/// `jdoe (Jane Doe)`: a login, and behind in parentheses whose it is.
fn has_a_login(text: &str) -> bool {
    let Some((login, who)) = text
        .strip_suffix(')')
        .and_then(|text| text.split_once(" ("))
    else {
        return false;
    };
    let is_word = |words: &Words| words.has(login);
    let is_login = login
        .chars()
        .all(|c| c.is_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.'))
        && login.chars().any(char::is_lowercase);
    is_login
        && ![&STOP, &ORDERS, &REMARKS].into_iter().any(is_word)
        && !is_place_in_code(login)
        && !who.contains(['(', ')'])
        && who.split_whitespace().count() > 1
        && read_line(who) == Reads::Person
}

/// `Jane Doe (the first version)`: a person, and behind in parentheses what was theirs.
fn has_a_part(text: &str) -> bool {
    let Some((who, part)) = text
        .strip_suffix(')')
        .and_then(|text| text.split_once(" ("))
    else {
        return false;
    };
    let asks = ['?', '？', '؟', '`', '!', '(', ')'];
    who.split_whitespace().count() > 1
        && !part.contains(asks)
        && !part
            .split_whitespace()
            .any(|word| STOP.has(&word.to_lowercase()))
        && read_line(who) == Reads::Person
}

/// Characters of questions, exclamations and code.
const SPEECH: [char; 9] = ['?', '？', '؟', '`', '{', '}', '!', '！', '。'];

/// What a header says where nobody filled it in, or where nobody is to be named.
fn is_placeholder(lower: &str) -> bool {
    let bare = lower.trim_matches(|c: char| !c.is_alphanumeric());
    matches!(
        bare,
        "n/a"
            | "none"
            | "unknown"
            | "anonymous"
            | "various"
            | "me"
            | "myself"
            | "tbd"
            | "your name"
            | "name"
            | "author"
            | "authors"
            | "author name"
            | "name here"
            | "your name here"
            | "insert name"
            | "full name"
            | "first last"
            | "firstname lastname"
            | "name surname"
            | "nobody"
            | "unbekannt"
            | "several"
            | "see below"
            | "see above"
    )
}

#[derive(Default)]
struct Count {
    words: usize,
    capitals: usize,
    lower: usize,
    organisations: usize,
    /// Addresses and handles: nobody asks with one alone.
    addresses: usize,
    /// Years and dates stand beside a name.
    years: usize,
    /// A comma or a bracket parts the text.
    apart: bool,
    caseless: usize,
    /// Of the caseless: parts of a name that is known by its family's.
    surnames: usize,
    /// Of the caseless: given names.
    given: usize,
    family_first: bool,
    remarks: usize,
    first_was_order: bool,
}

impl Count {
    /// Takes the next word; `false` where no person's description has such a word.
    fn add(&mut self, word: &str) -> bool {
        if is_place_in_code(word) {
            return false;
        }
        match contact(word) {
            Some(Contact::Address) => self.addresses += 1,
            Some(Contact::Year) => self.years += 1,
            Some(Contact::Other) => {}
            None => return self.add_word(word),
        }
        true
    }

    fn add_word(&mut self, word: &str) -> bool {
        let lower = word.to_lowercase();
        let first = self.words == 0;
        self.words += 1;
        let capital = word.chars().next().is_some_and(char::is_uppercase);
        // Mark, Will and Chase are people too, where more capitals follow; «Mark deprecated» is an order.
        let also_name = capital && ALSO_NAMES.has(&lower);
        // `Jane Doe, IT Consult`, `Vijay Abraham I`.
        let initials = self.capitals > 0
            && (is_acronym(word) || word == "A" || word == "I" && self.capitals > 1);
        if STOP.has(&lower) && !also_name && !initials {
            return false;
        }
        if ORDERS.has(&lower) && if first { !also_name } else { !capital } {
            return false;
        }
        self.first_was_order |= first && also_name;
        if ORGANISATION.has(&lower) {
            self.organisations += 1;
        } else if PARTICLES.has(&lower) {
        } else if REMARKS.has(&lower) && !initials {
            // `Jane Doe, based on code of John Roe`
            self.remarks += 1;
            return self.capitals > 1;
        } else if capital {
            self.capitals += 1;
        } else if word.chars().any(is_cased) {
            // `wxWidgets`, `iXsystems`: a name by its capital, but not a sure one.
            self.lower += 1;
        } else if is_sentence_script(word) {
            return false;
        } else {
            // `山田 太郎`, `王 小明`
            self.family_first |= self.caseless == 0 && is_family(word);
            let behind = self.family_first && word.chars().count() <= 3;
            self.caseless += 1;
            self.surnames += usize::from(behind || is_east_asian_name(word));
            self.given += usize::from(GIVEN.has(word));
        }
        true
    }

    fn verdict(&self) -> Reads {
        let named = self.capitals + self.caseless + self.lower;
        if self.first_was_order && (self.capitals < 2 || self.lower > 0) {
            return Reads::Speech;
        }
        if self.capitals > 40 || self.lower > 12 {
            return Reads::Speech;
        }
        let dated = self.years > 0 && (named > 1 || self.apart);
        if named == 0 {
            // A number, a version or a date alone is no person: a question is not hidden for it.
            return if self.addresses > 0 || self.organisations > 0 && self.apart {
                Reads::Person
            } else {
                Reads::PerhapsPerson
            };
        }
        if self.caseless > 0 {
            let known =
                self.surnames == self.caseless || self.given == self.caseless && self.caseless > 1;
            return match (known, self.addresses > 0 || self.years > 0, self.caseless) {
                (true, _, 1..=3) | (_, true, 1..=4) => Reads::Person,
                (_, _, 1..=3) => Reads::PerhapsPerson,
                _ => Reads::Speech,
            };
        }
        if self.addresses > 0 || self.organisations > 0 || dated {
            return Reads::Person;
        }
        // One word alone may be a login or a first name, and may be anything else.
        match (self.lower, named) {
            _ if self.remarks > 0 || named == 1 => Reads::PerhapsPerson,
            (0, _) => Reads::Person,
            (1..=4, _) => Reads::PerhapsPerson,
            _ => Reads::Speech,
        }
    }
}

/// What stands beside a name.
enum Contact {
    /// An address, a link, a handle.
    Address,
    /// A year, or a date with one.
    Year,
    /// Another number, or what parts an address: says nothing by itself (`v2`, `f64`, `#123`, `self.items`, `email`).
    Other,
}

fn contact(word: &str) -> Option<Contact> {
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    let lower = word.to_ascii_lowercase();
    if word.contains('@')
        || (word.contains("-at-") && word.contains("-dot-"))
        || word.contains("//")
        || lower.starts_with("www.")
        || lower.starts_with("mailto")
    {
        return Some(Contact::Address);
    }
    if word.contains('©') {
        return Some(Contact::Year);
    }
    if digits > 0 && letters <= 2 {
        let mut numbers = word.split(|c: char| !c.is_ascii_digit());
        let is_year = |number: &str| {
            number
                .parse()
                .is_ok_and(|year: u32| (1960..2100).contains(&year))
        };
        return Some(if letters == 0 && numbers.any(is_year) {
            Contact::Year
        } else {
            Contact::Other
        });
    }
    let between = [
        "at", "dot", "c", "present", "email", "e-mail", "mail", "github",
    ];
    // `example.org`, but not `F.Ratnikov`
    let dotted = letters > 0 && word.chars().all(|c| !c.is_uppercase()) && word.contains('.');
    match dotted.then(|| word.rsplit('.').next()).flatten() {
        Some(ending) if DOMAINS.has(ending) => Some(Contact::Address),
        Some(_) => Some(Contact::Other),
        None if between.contains(&lower.as_str()) => Some(Contact::Other),
        None => None,
    }
}

/// A file, with or without its folders and its line (`net.rs`, `src/net.rs:47.`): who speaks of one asks.
pub(super) fn is_place_in_code(word: &str) -> bool {
    if word.contains('@') || word.contains("//") || word.to_ascii_lowercase().starts_with("www.") {
        return false;
    }
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let file = word.split(':').next().unwrap_or(word);
    // The same letters end domains, but these are no domains' ends that people have.
    let suffix = file.rsplit_once('.').map_or("", |(_, suffix)| suffix);
    let domains = [
        "org", "com", "net", "io", "pl", "me", "in", "cc", "at", "ai", "dev", "edu",
    ];
    // `J.R.` are initials, `j.doe.1` is half an address.
    !suffix.is_empty()
        && suffix.bytes().all(|b| b.is_ascii_lowercase())
        && !domains.contains(&suffix)
        && crate::comments::detect(file, None, "").is_some()
}

/// `KNL`, `OLD`: somebody's initials.
fn is_acronym(word: &str) -> bool {
    (2..=4).contains(&word.len()) && word.chars().all(char::is_uppercase)
}

fn is_cased(c: char) -> bool {
    c.is_uppercase() || c.is_lowercase()
}

/// Hiragana carry the grammar of a Japanese sentence, and hardly a name; a Chinese name has four
/// characters at most.
fn is_sentence_script(word: &str) -> bool {
    let longest = if word.chars().any(|c| matches!(c, '\u{4e00}'..='\u{9fff}')) {
        4
    } else {
        12
    };
    word.chars().any(|c| matches!(c, '\u{3040}'..='\u{309f}')) || word.chars().count() > longest
}

/// Two to four characters that begin with one of the commonest Chinese or Korean family names, or three to five that
/// begin with a Japanese one.
fn is_east_asian_name(word: &str) -> bool {
    const FAMILIES: &str = "王李张張刘劉陈陳杨楊黄黃赵趙吴吳周徐孙孫马馬朱胡郭何林罗羅郑鄭梁谢謝宋唐许許韩韓冯馮邓鄧曹彭曾肖萧田董袁潘蒋蔡余杜叶葉程苏蘇魏吕呂丁任沈姚卢盧姜崔钟鍾谭譚陆陸汪范廖贾夏韦傅邹孟熊秦邱江尹薛闫段雷侯龙陶黎贺顾毛郝龚邵钱严覃武戴莫孔汤김이박최정강조윤장임한오서신권황안송류홍";
    let length = word.chars().count();
    let first_two = word
        .char_indices()
        .nth(2)
        .and_then(|(end, _)| word.get(..end));
    (2..=4).contains(&length) && word.chars().next().is_some_and(|c| FAMILIES.contains(c))
        || (3..=5).contains(&length) && first_two.is_some_and(|family| JAPANESE.has(family))
}

/// One of the commonest Chinese or Japanese family names and nothing behind it.
fn is_family(word: &str) -> bool {
    JAPANESE.has(word) || word.chars().count() == 1 && is_east_asian_name(&format!("{word}一"))
}

/// A set of words, made from a text when first asked.
pub(super) struct Words {
    text: &'static str,
    set: OnceLock<HashSet<&'static str>>,
}

impl Words {
    pub(super) const fn new(text: &'static str) -> Self {
        Self {
            text,
            set: OnceLock::new(),
        }
    }

    /// Whether `word`, in lower case, is one of them.
    pub(super) fn has(&self, word: &str) -> bool {
        self.set
            .get_or_init(|| self.text.split_whitespace().collect())
            .contains(word)
    }
}

/// Between the parts of a name or a list of names.
static PARTICLES: Words = Words::new(
    "
    al and av ben bin by da dal das de del della den der di do dos du e el et for from ibn in la
    le les mac och of og on or others st ten ter the und van vom von with y zu zum zur",
);

/// What groups of people are called.
static ORGANISATION: Words = Words::new(
    "
    ag association author authors bv co collective community company consortium contributor
    contributors corp corporation department dept developer developers devs division engineering
    foundation gmbh group inc institute lab laboratory labs limited llc ltd maintainer
    maintainers members org organization project research sa sarl school software srl student
    students systems team technologies univ university working",
);

/// Words of speech: no description of a person has them.
static STOP: Words = Words::new(
    "
    a about actually after again all also always am an any anyone anything are aren't as be
    because been before being better both but can can't cannot could couldn't did didn't does
    doesn't doing don't dont each either else enough ever every everything few had has hasn't
    have haven't having he hello her here hey hi him his hmm how however i i'd i'll i'm i've if
    instead into is isn't it it's its just let's lets like maybe me might more most must my need
    needs never no not nothing now off ok okay one only our out perhaps please pls plz probably
    really seems shall she should shouldn't since so some something still such than thanks that
    that's their them then there these they thing things think this those though thoughts to too
    under unless until up us was wasn't we we're were what what's when where whether which while
    who whose why will won't would wouldn't wrong wtf yes yet you you're your",
);

/// Verbs that begin an order.
static ORDERS: Words = Words::new(
    "
    abort accept add adjust align allow analyse analyze annotate answer apply approve ask assert
    assume avoid batch benchmark break build bump cache call cancel capitalize catch change
    chase check clarify clean cleanup clear close collapse combine comment compare compile
    compute consider consolidate continue convert copy correct count cover create cut debug
    decide deduplicate define delete deprecate derive describe design detect disable discuss
    document double drop dry duplicate edit elaborate eliminate enable ensure escape estimate
    evaluate examine expand explain export expose extend extract factor fetch fill find finish
    fix flatten follow force format forward generalize generate get give go grant guard handle
    hide ignore implement import improve include increase indent inline insert inspect install
    introduce invert investigate isolate join justify keep leave limit link lint list load lock
    log look lower make mark memoize mention merge migrate mind minimize mock modernize modify
    move name nit normalize note omit open optimise optimize order parse pass pin port prefer
    prefix print profile propose prove provide publish pull push put raise read rebase recheck
    record redo reduce refactor regenerate reject remember remove rename reorder replace reply
    report require reset resolve restore restructure retry return reuse revert review rewrite
    round run save scan search secure send separate set shorten show simplify skip sort speed
    split start stop store strip suggest summarise summarize support suppress swap switch sync
    take tell test throw tidy translate trim try turn type undo unify unwrap update upgrade use
    validate verify wait warn watch wire wrap write",
);

/// Ends of domains that are no names of fields.
static DOMAINS: Words = Words::new(
    "
    com org net edu gov mil info biz io dev ai au br ca ch cn cz de dk es eu fi fr gr hu ie il jp kr mx nl nz pl pt
    ro ru se tr tw ua uk us za",
);

/// The commonest Japanese family names of two characters.
static JAPANESE: Words = Words::new(
    "
    佐藤 鈴木 高橋 田中 伊藤 渡辺 渡邊 山本 中村 小林 加藤 吉田 山田 山口 松本 井上 木村 斎藤 斉藤 清水 山崎
    池田 橋本 阿部 石川 山下 中島 石井 小川 前田 岡田 藤田 後藤 近藤 村上 遠藤 青木 坂本 福田 太田 西村 藤井
    金子 岡本 藤原 中野 三浦 原田 中川 松田 竹内 小野 田村 和田 石田 森田 上田 内田 柴田 酒井 宮崎 横山 高木
    安藤 宮本 大野 小島 谷口 工藤 今井 高田 丸山 増田 村田 大塚 新井 平野 藤本 河野 野口 武田 松井 千葉 岩崎
    菅原 木下 佐野 野村 松尾 菊地",
);

/// Common names in scripts without capitals: two of them and nothing else are a person's.
static GIVEN: Words = Words::new(
    "
    محمد أحمد احمد علي حسن حسين حسین محمود عمر عبدالله إبراهيم ابراهيم يوسف خالد مصطفى سعيد كريم طارق ياسر فاطمة
    مريم عائشة زينب ليلى سارة رضا مهدی علی محمدی
    राम कुमार शर्मा सिंह गुप्ता वर्मा मोहन राज अमित राहुल सुरेश रमेश अनिल सुनील विजय संजय प्रिया पटेल यादव मिश्रा
    जोशी अंजलि
    דוד משה יוסף יעקב אברהם שרה רחל מרים כהן לוי",
);

/// Orders that are given names (or the first word of an organisation's) as well.
static ALSO_NAMES: Words = Words::new("an chase grant he link mark open pin skip will");

/// Words of remarks about code.
static REMARKS: Words = Words::new(
    "
    ambiguous api arg args argument arguments array async bad behavior behaviour boolean broken
    buffer bug buggy class code comments complex condition confusing constant crash data dead
    deadlock default dependency deprecated docs documentation done duplicated empty enum error
    errors example exception field file fixme float formatting function functions good hack
    hacky header imports inconsistent incorrect index inefficient input int interface invalid
    leak lgtm license lifetime line linter logic long loop magic memory message method
    misleading missing module names naming nested nice nitpick null number numbers object
    obsolete old outdated output overflow package panic parameter parameters perf performance
    pointer possible potential private public question race readability redundant refactoring
    regression result risky same security signature slow spelling static string struct style
    suspicious tests thread todo types typo typos unclear undefined unnecessary unneeded
    unreachable unsafe unused usage vague value values variable variables version warning
    warnings weird xxx",
);

#[cfg(test)]
mod tests;
