// biome-ignore-all lint/suspicious/noControlCharactersInRegex: control characters are what this file takes out.

/** Replaces lone surrogates and drops NUL, so that every store, provider and terminal takes the text. Nothing else changes. */
export function toStorableText(text: string): string {
  return text.toWellFormed().replaceAll('\u0000', '')
}

// C0 but for tab and newline, DEL, C1, bidirectional overrides and isolates, zero-width and line separators.
const unsafeForDisplay =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g
const escapeSequence =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[@-_])/g

/** Takes out what could drive or disguise a terminal, a log or a chat: escape sequences, control and bidi characters. */
export function toDisplayText(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(escapeSequence, '').replace(unsafeForDisplay, '')
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
