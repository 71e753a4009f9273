import { isRecord, parseAnyJson } from '../base/json.ts'
import { type Language, languageOfTag } from '../base/languages.ts'
import {
  type ApprovalOutcome,
  type ApprovalScope,
  approvalScopes,
  type ShownApproval,
} from '../protocol/permissions.ts'
import catalog from './approval-texts.json' with { type: 'json' }

/** A call that is waiting for an approval or has one. */
interface AskedCall {
  tool: string
  /** Canonical JSON. */
  arguments: string
}

type TextName = keyof (typeof catalog)['en']

/**
 * The words of the gate in a language. Values come in one pass, so that one that looks like a placeholder stays as it
 * is: nothing from outside changes the words of a question.
 */
function textIn(language: Language, name: TextName, values: Readonly<Record<string, string>> = {}): string {
  return catalog[language][name].replaceAll(/\{(\w+)\}/g, (mark, key: string) => values[key] ?? mark)
}

interface InLanguage {
  language?: string | undefined
}

const languageIn = ({ language }: InLanguage): Language => languageOfTag(language) ?? 'en'

/** Returned to the model in place of a result. */
export const waitsForApproval =
  "Not done: this call waits for the user's approval, which has been requested. Do not try to achieve the same in another way."

const shownArguments = 1_000
const toldArguments = 4_000

/** The question to the user: what will happen and where, then the arguments, then why it is asked. */
export function approvalQuestion(
  call: AskedCall & { effect: string | null; destination: string | null; reason: string } & InLanguage,
): string {
  const language = languageIn(call)
  const given = argumentsOf(call.arguments, language)
  const doing = call.effect === 'reach' || call.effect === 'send' || call.effect === null ? 'wouldSend' : 'with'
  // The sentence itself says it where the call goes to people or runs on the machine.
  const why = call.effect === 'host' || call.effect === 'send' ? '' : ` ${reasonIn(call)}`
  return `${approvalSentence(call)}${given && ` ${textIn(language, doing, { given })}`}${why}`
}

/** The first sentence of the question. */
export function approvalSentence(
  call: { tool: string; effect: string | null; destination: string | null } & InLanguage,
): string {
  const { text, values } = actionOf(call)
  return textIn(languageIn(call), text, { tool: visible(call.tool), ...values })
}

const reasonNames = ['outside', 'toPeople', 'onHost'] as const

/** It is stored in English. */
function reasonIn({ reason, language }: { reason: string } & InLanguage): string {
  const name = reasonNames.find((one) => catalog.en[one] === reason)
  return name === undefined ? reason : textIn(languageIn({ language }), name)
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
  language?: string | undefined
}): ShownApproval {
  const { destination, grants, scopes } = approval
  const language = languageIn(approval)
  const reason = reasonIn(approval)
  const sentence = approvalSentence(approval)
  const place = destination === null ? null : placeIn(sentence, visible(destination))
  const tool = visible(approval.tool)
  const details = approvalDetails(approval).map(({ name, value }) => ({
    name,
    value: shortened(value, language, shownValue),
  }))
  const covers = `${tool} → ${grants.map((grant) => placeOf(visible(grant))).join(', ')}`
  return { tool, sentence, place, details, reason, scopes: [...scopes], covers, ...(language !== 'en' && { language }) }
}

/** The place as the sentence names it. */
function placeIn(sentence: string, destination: string): string | null {
  const [, name = ''] = /^(?:mcp|tool|client):(.+)$/.exec(destination) ?? []
  return [placeOf(destination), destination, name].find((text) => text !== '' && sentence.includes(text)) ?? null
}

type Asked = Pick<ShownApproval, 'scopes' | 'covers' | 'language'>

/** The scopes that one answer to all of them may have. */
export function commonScopes(asked: readonly Pick<Asked, 'scopes'>[]): ApprovalScope[] {
  return approvalScopes.filter((scope) => asked.every(({ scopes }) => scopes.includes(scope)))
}

/** The answers in the order of their numbers. */
export function approvalChoices(asked: readonly Asked[]): { scope: ApprovalScope | null; label: string }[] {
  const language = languageIn(asked[0] ?? {})
  const labels = {
    once: textIn(language, 'allowOnce'),
    conversation: textIn(language, 'allowConversation'),
    always: textIn(language, 'allowAlways', { covers: asked.map(({ covers }) => covers).join(', ') }),
  }
  const deny = { scope: null, label: textIn(language, 'deny') }
  return [...commonScopes(asked).map((scope) => ({ scope, label: labels[scope] })), deny]
}

/** The same as a numbered list, for channels without buttons. */
export function listApprovalChoices(asked: readonly Asked[]): string {
  if (asked.length === 0) return ''
  return approvalChoices(asked)
    .map(({ label }, at) => `${at + 1}. ${label}`)
    .join('\n')
}

/** `Allowed once`, as the channels show an answer. */
export function outcomeText(
  { answer, scope }: Pick<ApprovalOutcome, 'answer' | 'scope'>,
  language: string | undefined = 'en',
): string {
  const names = { once: 'allowedOnce', conversation: 'allowedConversation', always: 'allowedAlways' } as const
  return textIn(languageIn({ language }), answer === 'deny' ? 'denied' : names[scope])
}

/** `Allowed once by you`, as the terminal notes it. */
export function outcomeLine(outcome: Pick<ApprovalOutcome, 'answer' | 'scope'>, language?: string): string {
  return textIn(languageIn({ language }), 'byYou', { outcome: outcomeText(outcome, language) })
}

/** The keys of the terminal: `1 once · 2 this conversation · n deny`. The keys are the same in every language. */
export function approvalKeys({ scopes, covers, language: tag }: Asked): string {
  const language = languageIn({ language: tag })
  const names = { once: 'keyOnce', conversation: 'keyConversation', always: 'keyAlways' } as const
  const keys = scopes.map((scope, at) => `${at + 1} ${textIn(language, names[scope], { covers })}`)
  return [...keys, `n ${textIn(language, 'keyDeny')}`].join(' · ')
}

/** An older question that is asked again. */
export function stillWaiting(question: string, language: Language): string {
  return textIn(language, 'waiting', { question })
}

/** How a numbered list of options is answered. */
export function answerHint(multiple: boolean, language: Language): string {
  return textIn(language, multiple ? 'answerNumbers' : 'answerNumber')
}

interface Action {
  text: TextName
  values: Record<string, string>
}

function actionOf({ effect, destination }: { effect: string | null; destination: string | null }): Action {
  const where = destination === null ? null : visible(destination)
  switch (effect) {
    case 'host':
      return { text: 'host', values: {} }
    case 'send':
      return where === null ? { text: 'people', values: {} } : { text: 'send', values: { place: placeOf(where) } }
    case 'later':
      return laterAction(where)
    case 'change':
      return { text: 'change', values: {} }
    default:
      return where === null ? { text: 'network', values: {} } : actionAt(where)
  }
}

function laterAction(destination: string | null): Action {
  if (destination === 'schedule') return { text: 'schedule', values: {} }
  const [, name] = /^build:(.+)$/.exec(destination ?? '') ?? []
  return name === undefined ? { text: 'later', values: {} } : { text: 'build', values: { name } }
}

function actionAt(destination: string): Action {
  const [, kind, name = ''] = /^(mcp|tool|client):(.+)$/.exec(destination) ?? []
  if (kind === 'mcp' || kind === 'tool' || kind === 'client') return { text: kind, values: { name } }
  return { text: 'reach', values: { place: placeOf(destination) } }
}

/** The host alone where it is encrypted and nothing else is named. */
function placeOf(destination: string): string {
  const url = URL.parse(destination)
  return url?.protocol === 'https:' && url.origin === destination ? url.host : destination
}

/** `city = Austin, days = 3`. A value that could be mistaken for more than one is quoted. */
function argumentsOf(given: string, language: Language): string {
  const read = parseAnyJson(given)
  if (!read.ok || !isRecord(read.value)) return given === 'null' ? '' : shortened(visible(given), language)
  const parts = Object.entries(read.value).map(([name, value]) => {
    const isPlain = typeof value === 'string' && /^[\p{L}\p{N}][^,="\\]{0,200}$/u.test(value) && value.trim() === value
    return `${name} = ${isPlain ? value : JSON.stringify(value)}`
  })
  return shortened(visible(parts.join(', ')), language)
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

function shortened(text: string, language: Language, limit = shownArguments): string {
  if (text.length <= limit) return text
  const kept = text.slice(0, limit).toWellFormed()
  return `${kept} … ${textIn(language, 'more', { count: String(text.length - limit) })}`
}
