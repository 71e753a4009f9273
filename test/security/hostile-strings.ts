// biome-ignore-all lint/suspicious/noControlCharactersInRegex: control characters are what this file looks for.

/**
 * Texts that a model, a tool, a page or a person may bring, each of which would drive or disguise a terminal, a log or a
 * chat: more than 500, always the same. Each begins with a mark, so that a test can see that it came through at all.
 */
export interface HostileString {
  /** Ordinary characters, the first of the text. */
  mark: string
  text: string
}

const esc = '\u001b'
const finals = [...'ABCDEFGHJKLMPSTXZ@`abcdefghlmnpqrstu']
const oscNumbers = ['0', '1', '2', '4;1', '7', '8;;', '9', '10', '11', '50', '52;c;', '104', '133', '777', '1337', '']
const endings = ['\u0007', `${esc}\\`, '\u009c', '']
const words = 'rm -rf ~ #'
// The two halves of a tag character, each alone.
const half = String.fromCharCode(0xdb40)
const otherHalf = String.fromCharCode(0xdc41)

function codes(from: number, to: number): string[] {
  return Array.from({ length: to - from + 1 }, (_, index) => String.fromCharCode(from + index))
}

const sequences = [
  ...finals.flatMap((final) => [`${esc}[${final}`, `${esc}[31;5;1337${final}`, `\u009b2${final}`]),
  ...['?1049h', '?25l', '?2004l', '>4;2m', '!p', ' q', '38;2;0;0;0m', '6n', '21t', '5i'].map(
    (rest) => `${esc}[${rest}`,
  ),
  ...oscNumbers.flatMap((number) =>
    endings.flatMap((end) => [`${esc}]${number};${words}${end}`, `\u009d${number};x${end}`]),
  ),
  ...['P', 'X', '^', '_'].flatMap((begin) => endings.map((end) => `${esc}${begin}q#0;2;0;0;0${end}`)),
  ...['\u0090', '\u0098', '\u009e', '\u009f'].flatMap((begin) => endings.map((end) => `${begin}q${words}${end}`)),
  ...[...'cDEHMNOVWZ78=>\\l|}~'].map((final) => esc + final),
  ...['(0', ')B', '*A', '#8', '%G', ' F', '[', ']', 'P', ''].map((rest) => esc + rest),
]

const controls = [...codes(0x00, 0x08), ...codes(0x0b, 0x1f), ...codes(0x7f, 0x9f)].map(
  (control) => `safe${control}${control}EVIL`,
)

const hiders = [
  ...['\u061c', '\u200b', '\u200e', '\u200f', ...codes(0x2028, 0x202e), ...codes(0x2060, 0x2069)],
  ...[...codes(0x206a, 0x206f), '\ufeff', '\ufff9', '\ufffa', '\ufffb', '\u180e'],
].flatMap((hider) => [`user${hider}gpj.exe`, hider.repeat(40)])

const tricks = [
  'Password: hunter2\rOK            ',
  'safe\r\r\nsafe\rEVIL',
  'all is well\b\b\b\b\b\b\b\b\b\b\b\bEVIL',
  '\ud800',
  'x\udc00y',
  '\ud83dEVIL',
  '\udc00\ud800',
  `${esc}${esc}[31m`,
  `${esc}[${esc}[31m31m`,
  `${esc}\u200b[31m`,
  `${esc}\u0000]0;x\u0007`,
  `${esc}]0;${esc}]0;x\u0007\u0007`,
  `\u009b\u009b31m`,
  `${esc}[3\u202e1m`,
  `${esc}[31\nm`,
  `${esc}]8;;https://evil.example/${esc}\\safe${esc}]8;;${esc}\\`,
  `${esc}]52;c;cm0gLXJmIH4K\u0007`,
  `${esc}]1337;File=inline=1:AAAA\u0007`,
  `${esc}]0;`.repeat(50),
  `${esc}_Gf=100;AAAA${esc}\\`,
  `${esc}P+q544e${esc}\\`,
  `${esc}[20t${esc}[c${esc}[5n`,
  `e${'\u0301\u0323'.repeat(300)}`,
  `Z${'\u0489'.repeat(500)}`,
  '\u{e0041}\u{e0042}\u{e007f}hidden',
  '\u{e0001}'.repeat(30),
  `${half}\u{e0041}${otherHalf}`,
  `${half}\u200b${otherHalf}`,
  `${half}${esc}[m${otherHalf}`,
  'x'.repeat(20_000),
  `${'word '.repeat(4_000)}${esc}[2J`,
  '\u202e'.repeat(2_000),
  `\u2067${'abc'.repeat(1_000)}\u2069`,
]

// Each text again inside what could swallow or complete it.
const surroundings = [`${esc}[`, `${esc}]8;;`, `\u009b`, '\r', '\u202e', `a\b`, '\u0000']
const framed = sequences.map((sequence, index) => {
  const before = surroundings[index % surroundings.length] ?? ''
  return `${before}${sequence}${surroundings[(index + 3) % surroundings.length] ?? ''}`
})

export const hostileStrings: readonly HostileString[] = [
  ...sequences,
  ...controls,
  ...hiders,
  ...tricks,
  ...framed,
].map((text, index) => {
  const mark = `q${String(index).padStart(3, '0')}z`
  return { mark, text: `${mark}${text}` }
})

/** As they come in one text, one to a line. */
export function hostileText(strings: readonly HostileString[] = hostileStrings): string {
  return strings.map(({ text }) => text).join('\n')
}

/** The longest of them left out, for places that hold a name. */
export const hostileNames: readonly HostileString[] = hostileStrings.filter(({ text }) => text.length <= 60)

// Written independently: the program's own filter must not judge its result.
const unsafe =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|\p{M}{9}/u
const unsafeAll = new RegExp(unsafe.source, 'gu')

// The program's own terminal output: its few colors, the line that it redraws, and a clear screen.
const ownWriting = /\u001b\[(?:1|2|22|31|32|33|36|39)m|\r?\u001b\[K|\u001b\[H\u001b\[2J(?:\u001b\[3J)?|\r(?=\n)/g

/** The parts that no terminal, log or chat may receive, as `\uXXXX at …`; empty if there are none. */
export function unsafeIn(bytes: string, options: { isTerminal?: boolean } = {}): string[] {
  const text = options.isTerminal ? bytes.replace(ownWriting, '') : bytes
  return [...text.matchAll(unsafeAll)].slice(0, 5).map(({ 0: found, index }) => {
    const around = text.slice(Math.max(0, index - 30), index + 30)
    return `U+${found.codePointAt(0)?.toString(16)} in ${JSON.stringify(around)}`
  })
}
