interface Rule {
  /** True: a match is ignored. False: it is not, whatever came before. */
  ignores: boolean
  isForFolders: boolean
  fits(name: string, path: string): boolean
}

/** The rules of one .gitignore. `name` is the last part of `path`, which starts at the folder of the file. */
interface IgnoreRules {
  decide(entry: { name: string; path: string; isFolder: boolean }): 'ignored' | 'kept' | undefined
}

/** Parses a .gitignore like git. Accepts any text: an invalid line ignores nothing. */
export function parseIgnoreRules(text: string): IgnoreRules | undefined {
  // The last matching rule counts.
  const rules = toBytes(text.replace(/^\ufeff/, ''))
    .split('\n')
    .map(parseLine)
    .filter((rule) => rule !== undefined)
    .reverse()
  if (rules.length === 0) return undefined
  return {
    decide({ name, path, isFolder }) {
      const byteName = toBytes(name)
      const bytePath = toBytes(path)
      const rule = rules.find((one) => (isFolder || !one.isForFolders) && one.fits(byteName, bytePath))
      return rule && (rule.ignores ? 'ignored' : 'kept')
    },
  }
}

function parseLine(line: string): Rule | undefined {
  if (line.startsWith('#')) return undefined
  let pattern = withoutTrailingSpaces(line.endsWith('\r') ? line.slice(0, -1) : line)
  const ignores = !pattern.startsWith('!')
  if (!ignores) pattern = pattern.slice(1)
  const isForFolders = pattern.endsWith('/')
  if (isForFolders) pattern = pattern.slice(0, -1)
  if (pattern === '') return undefined
  const isAnchored = pattern.includes('/')
  const glob = compileGlob(pattern.startsWith('/') ? pattern.slice(1) : pattern)
  if (!glob) return undefined
  return { ignores, isForFolders, fits: (name, path) => glob(isAnchored ? path : name) }
}

/** A trailing space counts only after a backslash. */
function withoutTrailingSpaces(line: string): string {
  let end = line.length
  while (end > 0 && line[end - 1] === ' ') end -= 1
  if (end === line.length) return line
  let slashes = 0
  while (line[end - 1 - slashes] === '\\') slashes += 1
  return line.slice(0, slashes % 2 === 1 ? end + 1 : end)
}

function toBytes(text: string): string {
  return /^[\0-\x7f]*$/.test(text) ? text : Buffer.from(text).toString('latin1')
}

/** Whether the whole text matches. Both are bytes, one character each, as in git. */
type Glob = (text: string) => boolean

interface Token {
  fits(code: number): boolean
  /** `*` and a final `**`: any number of characters, including none. */
  repeats?: true
  /** `**` and a slash as a whole part of the path: any number of folders, including none. */
  isFolders?: true
}

const slash = 47
const signs = /[*?[\\]/
const isNoSlash = (code: number) => code !== slash

/**
 * Compiles a .gitignore pattern as git does; only a slash matches a slash. Undefined: it can match nothing.
 *
 * It follows all alternatives at once, so that no pattern is slow: it takes the pattern's length times the text's.
 */
function compileGlob(pattern: string): Glob | undefined {
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
      let end = at
      while (pattern[end] === '*') end += 1
      const token = starToken(pattern, at, end)
      tokens.push(token)
      at = token.isFolders ? end + 1 : end
    } else if (sign === '?') {
      tokens.push({ fits: isNoSlash })
      at += 1
    } else if (sign === '[') {
      const set = readSet(pattern, at)
      if (!set) return undefined
      tokens.push(set)
      at = set.end
    } else {
      const code = pattern.charCodeAt(sign === '\\' ? at + 1 : at)
      if (Number.isNaN(code)) return undefined
      tokens.push({ fits: (other) => other === code })
      at += sign === '\\' ? 2 : 1
    }
  }
  return tokens
}

function starToken(pattern: string, at: number, end: number): Token {
  // Git compares the literal prefix separately, and treats the rest as its own pattern.
  const isFirst = at === pattern.search(signs)
  const isPart = end - at >= 2 && (isFirst || pattern[at - 1] === '/')
  if (isPart && end === pattern.length) return { fits: () => true, repeats: true }
  if (isPart && pattern[end] === '/') return { fits: () => true, isFolders: true }
  return { fits: isNoSlash, repeats: true }
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

/** `[a-z]`, `[!a]`, `[[:alpha:]]`. Undefined if it is not closed. */
function readSet(pattern: string, start: number): { fits(code: number): boolean; end: number } | undefined {
  const members: ((code: number) => boolean)[] = []
  let at = start + 1
  const isNot = pattern[at] === '!' || pattern[at] === '^'
  if (isNot) at += 1
  // A closing bracket in first position is a member.
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
    // `[z-a]` is an empty range, but its first character is still a member.
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
    for (const place of places) {
      const token = tokens[place]
      if (!token?.fits(code)) continue
      // Inside a folder's name it waits for the slash; the next token starts only after it.
      if (token.isFolders && code !== slash) next.add(place)
      else enter(tokens, next, token.repeats || token.isFolders ? place : place + 1)
    }
    if (next.size === 0) return false
    places = next
  }
  return places.has(tokens.length)
}

/** Adds the position, and those after tokens that can be empty. */
function enter(tokens: readonly Token[], places: Set<number>, place: number): void {
  places.add(place)
  const token = tokens[place]
  if (token?.repeats || token?.isFolders) enter(tokens, places, place + 1)
}

/** The rules of a folder: its own override those of outer folders. */
export interface IgnoreChain {
  rules: IgnoreRules
  /** The folder of the rules, from the root with a trailing slash; empty for the root. */
  base: string
  outer: IgnoreChain | undefined
}

/** Whether an entry is ignored, given that its folder is not. `path` is from the root. */
export function isIgnored(
  chain: IgnoreChain | undefined,
  { name, path, isFolder }: { name: string; path: string; isFolder: boolean },
): boolean {
  for (let link = chain; link; link = link.outer) {
    const decision = link.rules.decide({ name, path: path.slice(link.base.length), isFolder })
    if (decision) return decision === 'ignored'
  }
  return false
}
