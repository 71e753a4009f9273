export interface WordRules {
  escapeWith: string
  variables: Readonly<Record<string, string>>
}

/** Splits at spaces and fills variables in as a Dockerfile does: quotes hold together, single ones hold variables off. */
export function readWords(text: string, rules: WordRules): string[] {
  const words: string[] = []
  let word: string | undefined
  const add = (piece: string) => {
    word = (word ?? '') + piece
  }
  scan(text, rules, (piece, isSpace) => {
    if (!isSpace) return add(piece)
    if (word !== undefined) words.push(word)
    word = undefined
  })
  if (word !== undefined) words.push(word)
  return words
}

/** The same without splitting: `WORKDIR /a b` is one folder. */
export function fillIn(text: string, rules: WordRules): string {
  let filled = ''
  scan(text, rules, (piece) => {
    filled += piece
  })
  return filled.trim()
}

/** Tells each piece; outside quotes, white space apart from the rest. */
function scan(text: string, { escapeWith, variables }: WordRules, tell: (piece: string, isSpace: boolean) => void) {
  let quote = ''
  let at = 0
  while (at < text.length) {
    const character = text[at] ?? ''
    if (quote === '' && (character === '"' || character === "'")) {
      quote = character
      // An empty pair of quotes is a word too.
      tell('', false)
      at += 1
    } else if (character === quote) {
      quote = ''
      at += 1
    } else if (character === escapeWith && quote !== "'" && at + 1 < text.length) {
      const next = text[at + 1] ?? ''
      const keepsEscape = quote === '"' && next !== '"' && next !== '$' && next !== escapeWith
      tell(keepsEscape ? character + next : next, false)
      at += 2
    } else if (character === '$' && quote !== "'") {
      const { value, length } = readVariable(text, at, variables)
      tell(value, false)
      at += length
    } else {
      tell(character, quote === '' && /\s/.test(character))
      at += 1
    }
  }
}

// The length keeps a text full of braces that never close from being read to its end for each of them.
const variable = /\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)(?:(:?[-+])([^}]{0,1000}))?\})/y

/** There is a dollar sign at `at`. What is no variable stays as it is. */
function readVariable(text: string, at: number, variables: WordRules['variables']): { value: string; length: number } {
  variable.lastIndex = at
  const found = variable.exec(text)
  if (!found) return { value: '$', length: 1 }
  const [whole, plain, braced, operator, alternative = ''] = found
  const name = plain ?? braced ?? ''
  const value = Object.hasOwn(variables, name) ? variables[name] : undefined
  const isSet = operator?.startsWith(':') ? Boolean(value) : value !== undefined
  if (operator?.endsWith('-')) return { value: isSet ? (value ?? '') : alternative, length: whole.length }
  if (operator?.endsWith('+')) return { value: isSet ? alternative : '', length: whole.length }
  return { value: value ?? '', length: whole.length }
}
