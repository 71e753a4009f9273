import { isRecord, parseAnyJson } from '../base/json.ts'

/** A call that is waiting for an approval or has one. */
interface AskedCall {
  tool: string
  /** Canonical JSON. */
  arguments: string
}

/** Returned to the model in place of a result. */
export const waitsForApproval =
  "Not done: this call waits for the user's approval, which has been requested. Do not try to achieve the same in another way."

const shownArguments = 1_000
const toldArguments = 4_000

/** The question to the user: what will happen and where, then the arguments, then why it is asked. */
export function approvalQuestion(
  call: AskedCall & { effect: string | null; destination: string | null; reason: string },
): string {
  const given = argumentsOf(call.arguments)
  const doing = call.effect === 'reach' || call.effect === 'send' || call.effect === null ? 'It would send' : 'With'
  // The sentence itself says it where the call goes to people or runs on the machine.
  const why = call.effect === 'host' || call.effect === 'send' ? '' : ` ${call.reason}`
  return `${approvalSentence(call)}${given && ` ${doing}: ${given}.`}${why}`
}

/** The first sentence of the question. */
export function approvalSentence(call: { tool: string; effect: string | null; destination: string | null }): string {
  return `Let ${visible(call.tool)} ${actionOf(call)}?`
}

/** The arguments by name, each as one line that can be shown as it is. */
export function approvalDetails({ arguments: given }: Pick<AskedCall, 'arguments'>): { name: string; value: string }[] {
  const read = parseAnyJson(given)
  if (!read.ok || !isRecord(read.value)) return []
  return Object.entries(read.value).map(([name, value]) => {
    return { name: visible(name), value: visible(typeof value === 'string' ? value : JSON.stringify(value)) }
  })
}

function actionOf({ effect, destination }: { effect: string | null; destination: string | null }): string {
  const where = destination === null ? null : visible(destination)
  switch (effect) {
    case 'host':
      return 'run on this computer, outside the sandbox'
    case 'send':
      return where === null ? 'send this to other people' : `send this to ${placeOf(where)}`
    case 'later':
      return 'act later, when you are not here'
    case 'change':
      return 'change your data'
    default:
      return where === null ? 'use the network' : actionAt(where)
  }
}

function actionAt(destination: string): string {
  const [, kind, name] = /^(mcp|tool|client):(.+)$/.exec(destination) ?? []
  if (kind === 'tool') return `run ${name}`
  if (kind === 'client') return `run in ${name}`
  return kind === 'mcp' ? `use the MCP server ${name}` : `contact ${placeOf(destination)}`
}

/** The host alone where it is encrypted and nothing else is named. */
function placeOf(destination: string): string {
  const url = URL.parse(destination)
  return url?.protocol === 'https:' && url.origin === destination ? url.host : destination
}

/** `city = Austin, days = 3`. A value that could be mistaken for more than one is quoted. */
function argumentsOf(given: string): string {
  const read = parseAnyJson(given)
  if (!read.ok || !isRecord(read.value)) return given === 'null' ? '' : shortened(visible(given))
  const parts = Object.entries(read.value).map(([name, value]) => {
    const isPlain = typeof value === 'string' && /^[\p{L}\p{N}][^,="\\]{0,200}$/u.test(value) && value.trim() === value
    return `${name} = ${isPlain ? value : JSON.stringify(value)}`
  })
  return shortened(visible(parts.join(', ')))
}

/** The form of the question in earlier versions. */
const questionStart = String.raw`\bMay I call \S+(?: to \S+)?, with (?=[{["]|null)`
const beginsQuestion = new RegExp(questionStart)
const wholeQuestion = new RegExp(
  String.raw`(?:\bStill waiting for your answer: )?${questionStart}.+?\? [^?]+\. Yes or no\?`,
  'gs',
)
const cutQuestion = new RegExp(`${questionStart}.*`, 's')

/** Whether a text contains a question as earlier versions asked it, complete or cut off: they were stored as memories (SEC-15). */
export function holdsApprovalQuestion(text: string): boolean {
  return beginsQuestion.test(text)
}

/** The model's text without such questions; empty if there is nothing else. */
export function withoutApprovalQuestions(text: string): string {
  return text
    .replaceAll(wholeQuestion, '')
    .replace(cutQuestion, '')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()
}

/** Sent to the model after the user approved; it makes the call again. */
export function approvedText(call: AskedCall): string {
  return `The user approved: ${named(call)}. Make exactly this call now, once.`
}

export function deniedText(call: AskedCall): string {
  return `The user denied: ${named(call)}. Do not do it, and do not do the same in another way.`
}

function named({ tool, arguments: given }: AskedCall): string {
  return given.length > toldArguments ? `${tool} with the arguments that you gave it` : `${tool} with ${given}`
}

/** Shows invisible characters, and those that change direction or end the line, as their codes. */
function visible(text: string): string {
  const codeOf = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => character.split('').map(codeOf).join(''))
}

function shortened(text: string): string {
  if (text.length <= shownArguments) return text
  const kept = text.slice(0, shownArguments).toWellFormed()
  return `${kept} … (${text.length - shownArguments} more characters, all of them in "familiar approvals")`
}
