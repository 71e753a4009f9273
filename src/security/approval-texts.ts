import { isRecord, parseAnyJson } from '../base/json.ts'
import {
  type ApprovalOutcome,
  type ApprovalScope,
  approvalScopes,
  type ShownApproval,
} from '../protocol/permissions.ts'

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

const shownValue = 400

/** The question in its parts, each as it can be shown. */
export function approvalView(approval: {
  tool: string
  arguments: string
  effect: string | null
  destination: string | null
  reason: string
  grants: readonly string[]
  scopes: readonly ApprovalScope[]
}): ShownApproval {
  const { destination, reason, grants, scopes } = approval
  const sentence = approvalSentence(approval)
  const place = destination === null ? null : placeIn(sentence, visible(destination))
  const tool = visible(approval.tool)
  const details = approvalDetails(approval).map(({ name, value }) => ({ name, value: shortened(value, shownValue) }))
  const covers = `${tool} → ${grants.map((grant) => placeOf(visible(grant))).join(', ')}`
  return { tool, sentence, place, details, reason, scopes: [...scopes], covers }
}

/** The place as the sentence names it. */
function placeIn(sentence: string, destination: string): string | null {
  const [, name = ''] = /^(?:mcp|tool|client):(.+)$/.exec(destination) ?? []
  return [placeOf(destination), destination, name].find((text) => text !== '' && sentence.includes(text)) ?? null
}

type Asked = Pick<ShownApproval, 'scopes' | 'covers'>

/** The scopes that one answer to all of them may have. */
export function commonScopes(asked: readonly Pick<Asked, 'scopes'>[]): ApprovalScope[] {
  return approvalScopes.filter((scope) => asked.every(({ scopes }) => scopes.includes(scope)))
}

/** The answers in the order of their numbers. */
export function approvalChoices(asked: readonly Asked[]): { scope: ApprovalScope | null; label: string }[] {
  const labels = {
    once: 'Allow once',
    conversation: 'Allow in this conversation',
    always: `Always allow ${asked.map(({ covers }) => covers).join(', ')}`,
  }
  return [...commonScopes(asked).map((scope) => ({ scope, label: labels[scope] })), { scope: null, label: 'Deny' }]
}

/** The same as a numbered list, for channels without buttons. */
export function listApprovalChoices(asked: readonly Asked[]): string {
  if (asked.length === 0) return ''
  return approvalChoices(asked)
    .map(({ label }, at) => `${at + 1}. ${label}`)
    .join('\n')
}

/** `Allowed once`, as the channels show an answer. */
export function outcomeText({ answer, scope }: Pick<ApprovalOutcome, 'answer' | 'scope'>): string {
  if (answer === 'deny') return 'Denied'
  return { once: 'Allowed once', conversation: 'Allowed in this conversation', always: 'Always allowed' }[scope]
}

function actionOf({ effect, destination }: { effect: string | null; destination: string | null }): string {
  const where = destination === null ? null : visible(destination)
  switch (effect) {
    case 'host':
      return 'run on this computer, outside the sandbox'
    case 'send':
      return where === null ? 'send this to other people' : `send this to ${placeOf(where)}`
    case 'later':
      return laterAction(where)
    case 'change':
      return 'change your data'
    default:
      return where === null ? 'use the network' : actionAt(where)
  }
}

function laterAction(destination: string | null): string {
  if (destination === 'schedule') return 'plan a message for later'
  const [, tool] = /^build:(.+)$/.exec(destination ?? '') ?? []
  return tool === undefined ? 'act later, when you are not here' : `build the tool ${tool}`
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

function shortened(text: string, limit = shownArguments): string {
  if (text.length <= limit) return text
  const kept = text.slice(0, limit).toWellFormed()
  return `${kept} … (${text.length - limit} more characters, all of them in "familiar approvals")`
}
