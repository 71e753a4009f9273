/** Whether all of a text fits. Both are bytes, one character each: git knows no others. */
type Glob = (text: string) => boolean

type Token =
  | { kind: 'one'; fits(code: number): boolean }
  /** `*`: any number of what is no slash. */
  | { kind: 'star' }
  /** `**` as a whole part of the path, with the slash behind it: any number of folders, none too. */
  | { kind: 'folders' }
  /** `**` at the end: all that is left. */
  | { kind: 'rest' }

const slash = 47
const signs = /[*?[\\]/

/**
 * A pattern of a .gitignore as git reads it, a slash being matched by a slash only. Undefined: it can fit nothing.
 *
 * It walks all ways through the pattern at once, so that no pattern of any repository can make it slow: the time is that
 * of the pattern's length times the text's.
 */
export function compileGlob(pattern: string): Glob | undefined {
  if (!signs.test(pattern)) return (text) => text === pattern
  const suffix = /^\*([^*?[\\/]+)$/.exec(pattern)?.[1]
  if (suffix !== undefined) return (text) => text.endsWith(suffix) && !text.includes('/')
  const tokens = tokensOf(pattern)
  return tokens && ((text) => fits(tokens, text))
}

function tokensOf(pattern: string): Token[] | undefined {
  const tokens: Token[] = []
  for (let at = 0; at < pattern.length; ) {
    const sign = pattern[at]
    if (sign === '*') {
      const end = endOfRun(pattern, at)
      tokens.push(starToken(pattern, at, end))
      at = tokens.at(-1)?.kind === 'folders' ? end + 1 : end
    } else if (sign === '?') {
      tokens.push({ kind: 'one', fits: (code) => code !== slash })
      at += 1
    } else if (sign === '[') {
      const set = readSet(pattern, at)
      if (!set) return undefined
      tokens.push({ kind: 'one', fits: set.fits })
      at = set.end
    } else {
      const code = pattern.charCodeAt(sign === '\\' ? at + 1 : at)
      if (Number.isNaN(code)) return undefined
      tokens.push({ kind: 'one', fits: (other) => other === code })
      at += sign === '\\' ? 2 : 1
    }
  }
  return tokens
}

function endOfRun(pattern: string, at: number): number {
  let end = at
  while (pattern[end] === '*') end += 1
  return end
}

function starToken(pattern: string, at: number, end: number): Token {
  // Git compares what comes before the first sign by itself, and takes the rest for a pattern of its own.
  const isFirst = at === pattern.search(signs)
  const isPart = end - at >= 2 && (isFirst || pattern[at - 1] === '/')
  if (isPart && end === pattern.length) return { kind: 'rest' }
  if (isPart && pattern[end] === '/') return { kind: 'folders' }
  return { kind: 'star' }
}

const classes: Readonly<Record<string, RegExp>> = {
  alnum: /[A-Za-z0-9]/,
  alpha: /[A-Za-z]/,
  blank: /[ \t]/,
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the control characters.
  cntrl: /[\0-\x1f\x7f]/,
  digit: /[0-9]/,
  graph: /[!-~]/,
  lower: /[a-z]/,
  print: /[ -~]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /[ \t\n\v\f\r]/,
  upper: /[A-Z]/,
  xdigit: /[A-Fa-f0-9]/,
}

const className = /\[:([^\]]*):\]/y

/** `[a-z]`, `[!a]`, `[[:alpha:]]`. Undefined where it is not closed. */
function readSet(pattern: string, start: number): { fits(code: number): boolean; end: number } | undefined {
  const members: ((code: number) => boolean)[] = []
  let at = start + 1
  const isNot = pattern[at] === '!' || pattern[at] === '^'
  if (isNot) at += 1
  // The closing bracket is a member where it comes first.
  for (let isFirst = true; isFirst || pattern[at] !== ']'; isFirst = false) {
    if (at >= pattern.length) return undefined
    className.lastIndex = at
    const name = className.exec(pattern)?.[1]
    if (name !== undefined) {
      const known = classes[name]
      if (!known) return undefined
      members.push((code) => known.test(String.fromCharCode(code)))
      at += name.length + 4
      continue
    }
    const low = readMember(pattern, at)
    if (!low) return undefined
    at = low.end
    const isRange = pattern[at] === '-' && at + 1 < pattern.length && pattern[at + 1] !== ']'
    const high = isRange ? readMember(pattern, at + 1) : low
    if (!high) return undefined
    at = high.end
    // `[z-a]` is a range of nothing, and its first character is a member all the same.
    members.push((code) => code === low.code || (code >= low.code && code <= high.code))
  }
  const fits = (code: number) => code !== slash && members.some((member) => member(code)) !== isNot
  return { fits, end: at + 1 }
}

function readMember(pattern: string, at: number): { code: number; end: number } | undefined {
  const isEscaped = pattern[at] === '\\'
  const code = pattern.charCodeAt(isEscaped ? at + 1 : at)
  return Number.isNaN(code) ? undefined : { code, end: at + (isEscaped ? 2 : 1) }
}

function fits(tokens: readonly Token[], text: string): boolean {
  let places = new Set<number>()
  enter(tokens, places, 0)
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    const next = new Set<number>()
    for (const place of places) step(tokens, { place, code, next })
    if (next.size === 0) return false
    places = next
  }
  return places.has(tokens.length)
}

/** Stands there, and behind whatever needs no character. */
function enter(tokens: readonly Token[], places: Set<number>, place: number): void {
  places.add(place)
  const kind = tokens[place]?.kind
  if (kind === 'star' || kind === 'folders' || kind === 'rest') enter(tokens, places, place + 1)
}

function step(
  tokens: readonly Token[],
  { place, code, next }: { place: number; code: number; next: Set<number> },
): void {
  const token = tokens[place]
  switch (token?.kind) {
    case 'one':
      if (token.fits(code)) enter(tokens, next, place + 1)
      return
    case 'star':
      if (code !== slash) enter(tokens, next, place)
      return
    case 'folders':
      // Inside a folder's name it waits for the slash; only behind that may what follows begin.
      if (code === slash) enter(tokens, next, place)
      else next.add(place)
      return
    case 'rest':
      enter(tokens, next, place)
      return
    case undefined:
      return
  }
}
