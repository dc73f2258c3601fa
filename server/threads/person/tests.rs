use super::*;

#[test]
fn names_of_people_and_groups_are_persons() {
    for text in [
        "Jane Doe",
        "Jane Doe <jane@example.org>",
        "J. R. Hacker, ACME Inc., 1999",
        "jane@example.org",
        "@janedoe",
        "Jane Doe (c) 2001-2003",
        "Jean-Luc O'Neill van der Berg",
        "jane doe <jane@example.org>",
        "The wxWidgets team",
        "wxWidgets team",
        "IBM Corporation",
        "Mark Grant",
        "Ligang.Wang[wlgchun@l63.com]",
        "Carlos Perez at carlos_perez[at]darkoperator.com",
        "F.Ratnikov, UMd",
        "Josh Crabtree, Exeter Finance, 8 Jan 2022",
        "Mickael Temporão < mickael.temporao.1 at ulaval.ca >",
        "Иван Петров",
        "王小明",
        "刘永富 2011-09-28",
        "홍길동",
        "[Group 14]",
        "Jane Doe\nACME Corp\njane@example.org",
        "Jane Doe; John Roe and others",
        "https://github.com/janedoe",
        "Unknown",
        "O. Druzhinin  (Transcribed by OLD)",
        "Kishon Vijay Abraham I <kishon@example.org>",
        "Enrico Weigelt, metux IT consult <info@example.net>",
        "Skip Montanaro",
        "Fang, Yang A <yang@example.org>",
        "Fred N. van Kempen, <waltje@example.org>\n\nThis program is free software; you can redistribute it",
        "<your name>",
        "LM (AMDG) 11/17/21",
        "Wang Long <long.wanglong@example.org>",
        "Long Cheng <long.cheng@example.org>",
        "Enric Balletbo i Serra <enric@example.org>",
        "Chris Dearman, chris@example.org derived from fpu.h",
        "Alan Cox <alan@example.org>. (datagram_poll() from old",
        "Thomas Hellström <thomas-at-example-dot-org>",
        "Lorenzo Colitti (IPv6 support)",
        "Piers Lauder (original)\nGuido van Rossum (Windows support and cleanup)",
    ] {
        assert_eq!(read(text), Reads::Person, "{text}");
    }
}

#[test]
fn sentences_and_action_words_are_speech() {
    for text in [
        "should we rename this to load_data?",
        "rename this to load_data",
        "Rename LoadData",
        "explain",
        "Explain this file",
        "Fix Imports",
        "Jane Doe wrote this, is she still here",
        "why",
        "Mark deprecated",
        "mark this deprecated",
        "done",
        "Commit File",
        "Done",
        "unused import",
        "typo",
        "dead code",
        "Ask jane@example.org about it",
        "use `Foo`",
        "删除这个函数",
        "この関数を削除して",
        "is this Jane Doe's code",
        "Thoughts",
        "Please review",
        "see src/net.rs:47.",
        "see net.rs",
        "same as in utils.py",
        "Bitte diese Funktion umbenennen, sie passt nicht zum Rest der Datei",
        "Vec::new() here",
        "Jane Doe\nshould we name her?",
        "Unused Import",
        "Skip this",
        "RENAME IT",
        "Jane Doe <jane@example.org> should look at this",
        "Jane Doe <jane@example.org> wrote it?",
        "Ask Jane Doe <jane@example.org>",
        "Rename LoadData (see the other file)",
        "Jane Doe (is she still here)",
    ] {
        assert_eq!(read(text), Reads::Speech, "{text}");
    }
}

#[test]
fn what_could_be_either_is_perhaps_a_person() {
    for text in [
        "jane doe",
        "jdoe",
        "Jane",
        "ping",
        "Frank Mori Hess, based on code from the driver.",
        "Jordan Randleman - escm.primitive.CharacterPrimitives",
        "See AUTHORS",
        "Bitte umbenennen",
    ] {
        assert_eq!(read(text), Reads::PerhapsPerson, "{text}");
    }
    assert_eq!(read("  "), Reads::Nothing);
}
