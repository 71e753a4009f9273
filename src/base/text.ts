// biome-ignore-all lint/suspicious/noControlCharactersInRegex: control characters are what this file takes out.

/** Replaces lone surrogates and drops NUL, so that every store, provider and terminal takes the text. Nothing else changes. */
export function toStorableText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '')
}

// C0 but for tab and newline, DEL, C1, bidirectional overrides and isolates, zero-width and line separators, annotations
// and the tag characters: as pairs, and a first half alone, which what is taken out after it could make a pair again.
const unsafeForDisplay =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40(?![\udc80-\udfff])[\udc00-\udc7f]?/g
// A string sequence ends on its own line, or it is none: otherwise one at the top of a file and its end at the bottom would
// take everything between from the sight of whoever reviews it.
const escapeSequence =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b\n]*(?:\u0007|\u001b\\)|[PX^_][^\u001b\n]*\u001b\\|[@-_])/g
// Marks pile up on one letter and over the lines beside it. No script needs as many as these.
const tower = /(\p{M}{8})\p{M}+/gu
const maybeMarks = /[^\u0000-\u02ff]/

/** Takes out what could drive or disguise a terminal, a log or a chat: escape sequences, control and bidi characters. */
export function toDisplayText(text: string): string {
  const plain = text.replaceAll('\r\n', '\n').replace(escapeSequence, '').replace(unsafeForDisplay, '')
  return maybeMarks.test(plain) ? plain.replace(tower, '$1') : plain
}

/** At most `limit` characters, cut on a code point, with a note of how much is missing. */
export function truncateText(text: string, limit: number): string {
  if (text.length <= limit) return text
  const kept = text
    .slice(0, limit)
    .toWellFormed()
    .replace(/\ufffd$/, '')
  return `${kept}\n[… ${text.length - kept.length} more characters]`
}
