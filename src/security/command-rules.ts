import { type Command, type ParsedScript, parse, type Redirection, type Statement } from 'unbash'
import type { Parsed } from '../base/json.ts'

const maxParts = 10
const maxCommandLength = 2_000
const maxRuleLength = 300

/** Allowed between two words: blanks and the operators that join commands. */
const betweenWords = /^[ \t\n;&|]*$/
/** The only redirections that write no file: into the void, and one output into the other. */
const harmlessRedirection =
  /^(?:[012]?>>?[ \t]*\/dev\/null|&>>?[ \t]*\/dev\/null|[12]?>&[ \t]*[12]|<[ \t]*\/dev\/null)$/
/** A word is made of plain characters, 'single' quotes and "double" quotes without anything that bash replaces. */
const wordPieces = /([\w./:=@%+,^-]|(?<=\w)~)|'([^']*)'|"([^"$`\\!]*)"/gy
const plainWord = /^(?:[\w./:=@%+,^-]|(?<=\w)~)+$/
const unreadable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}]/u
/** By name, or by its full path: a program in the workspace can be replaced by anyone who can write there. */
const programName = /^(?:\/(?:[\w.+-]+\/)*)?[A-Za-z0-9_][\w.+-]*$/

/** Words of bash itself. Most change what the following commands mean (`cd`, `alias`, `set`) or run text (`eval`). */
const wordsOfBash = new Set(
  `. : [ [[ ]] { } ! alias bg bind break builtin caller case cd command compgen complete compopt continue coproc declare
  dirs disown do done elif else enable esac eval exec exit export fc fg fi for function getopts hash help history if in
  jobs kill let local logout mapfile popd printf pushd read readarray readonly return select set shift shopt source
  suspend test then time times trap type typeset ulimit umask unalias unset until wait while`.split(/\s+/),
)

/** Programs that run whatever a file or their other arguments say: a rule about them would be a rule about everything. */
const runners =
  /^(?:(?:ba|da|z|k|c|tc|fi|a)?sh|busybox|env|sudo|doas|su|runuser|pkexec|nice|ionice|nohup|setsid|stdbuf|timeout|xargs|watch|parallel|script|expect|ssh|chroot|unshare|nsenter|systemd-run|flock|strace|gdb|at|batch|crontab|npx|pnpx|bunx|uvx|pipx|(?:python|pypy|node|deno|bun|perl|ruby|php|lua|luajit|tclsh|g?awk|mawk|nawk|osascript|pwsh)[\d.]*)$/

/**
 * The commands that this shell text runs, each in one canonical spelling, so that rules are compared with words and
 * never with raw text. Undefined if any of it is not understood completely: expansions, substitutions, globs,
 * assignments, subshells, control flow, here-documents, comments and redirections to files. Such a command is covered
 * by no rule. Parsed twice on purpose: by a parser of bash, and by looking at every character around and in its words.
 */
export function commandParts(text: string): readonly string[] | undefined {
  if (text.length > maxCommandLength || !text.isWellFormed()) return undefined
  const script = parse(text)
  if (script.errors?.length || script.commands.length === 0) return undefined
  const commands = simpleCommands(script)
  if (!commands || commands.length > maxParts || !isAccountedFor(text, commands)) return undefined
  const parts = commands.map((command) => canonicalCommand(command))
  return parts.every((part) => part !== undefined) ? [...new Set(parts)] : undefined
}

function simpleCommands(script: ParsedScript): Command[] | undefined {
  const found: Command[] = []
  const collect = (node: Statement['command']): boolean => {
    if (node.type === 'Command') {
      found.push(node)
      return true
    }
    if (node.type === 'AndOr') return node.commands.every(collect)
    return node.type === 'Pipeline' && node.prefixes.length === 0 && node.commands.every(collect)
  }
  return script.commands.every(({ command }) => collect(command)) ? found : undefined
}

/** Whether the words and redirections of the commands, with blanks and operators between, are the whole text. */
function isAccountedFor(text: string, commands: readonly Command[]): boolean {
  let at = 0
  for (const { pos, end } of commands.flatMap((command) => leavesOf(command))) {
    if (pos < at || !betweenWords.test(text.slice(at, pos))) return false
    at = end
  }
  return betweenWords.test(text.slice(at))
}

function leavesOf({ name, prefix, suffix }: Command) {
  return [...(name ? [name] : []), ...prefix, ...suffix].sort((a, b) => a.pos - b.pos)
}

function canonicalCommand(command: Command): string | undefined {
  const { name, prefix, suffix } = command
  if (!name || prefix.length > 0 || !isProgram(name.text)) return undefined
  const words: string[] = [name.text]
  for (const one of suffix) {
    if (one.type === 'Word') {
      const value = wordValue(one.text)
      if (value === undefined || value !== one.value) return undefined
      words.push(quoted(value))
    } else if (one.type === 'Assignment' || !isHarmless(one)) return undefined
  }
  return words.join(' ')
}

function isProgram(name: string): boolean {
  const program = name.slice(name.lastIndexOf('/') + 1)
  return programName.test(name) && !wordsOfBash.has(program) && !runners.test(program)
}

function isHarmless(redirection: Redirection): boolean {
  if (redirection.type !== 'Redirect' || !redirection.target) return false
  const { descriptor, operator, target } = redirection
  if (descriptor && descriptor.type !== 'FileDescriptor') return false
  return harmlessRedirection.test(`${descriptor?.value ?? ''}${operator}${target.text}`)
}

/** The text that the program gets for this word. Undefined if bash could make anything else of it. */
function wordValue(text: string): string | undefined {
  let at = 0
  let value = ''
  for (const [piece, plain, single, double] of text.matchAll(wordPieces)) {
    at += piece.length
    value += plain ?? single ?? double ?? ''
  }
  return at === text.length && !unreadable.test(value) ? value : undefined
}

function quoted(value: string): string {
  return plainWord.test(value) ? value : `'${value.replaceAll("'", `'"'"'`)}'`
}

/**
 * A rule for commands as it is stored: one command, or the beginning of one with ` *` for any further words.
 * `git status` covers exactly that; `git log *` also covers `git log -3` and `git log 'a b'`, but never a second command.
 */
export function readCommandRule(text: string): Parsed<string> {
  const given = text.trim()
  const isPrefix = given.endsWith(' *')
  const command = isPrefix ? given.slice(0, -2).trimEnd() : given
  const parts = given.length <= maxRuleLength ? commandParts(command) : undefined
  const [only] = parts ?? []
  if (only === undefined || parts?.length !== 1) {
    const message = `"${given.slice(0, 80).toWellFormed()}" cannot be a rule. A rule is one plain command with nothing to expand, and not one that runs other programs, such as bash, sudo or python. Examples: "git status", "git log *", "npm test".`
    return { ok: false, message }
  }
  return { ok: true, value: isPrefix ? `${only} *` : only }
}
