import { z } from 'zod'

/** The answers that a question offers. */
export const choicesSchema = z.object({
  options: z.array(z.object({ label: z.string(), description: z.string().optional() })),
  /** An answer in other words is accepted too. */
  allowText: z.boolean(),
  /** Several options may be chosen. */
  multiple: z.boolean(),
})
export type Choices = z.infer<typeof choicesSchema>

interface GivenChoices {
  readonly options: readonly { readonly label: string; readonly description?: string | undefined }[]
  readonly multiple: boolean
}

/** `id` names the question, so that a button of an older question answers nothing. */
export const openChoicesSchema = choicesSchema.extend({ id: z.string() })
export type OpenChoices = z.infer<typeof openChoicesSchema>

/** The options as a numbered list, for channels without buttons. `hint` says how to answer, in the user's language. */
export function listChoices(
  { options, multiple }: GivenChoices,
  hint = multiple ? 'Answer with one or more numbers.' : 'Answer with a number.',
): string {
  const lines = options.map(
    ({ label, description }, at) => `${at + 1}. ${label}${description ? `: ${description}` : ''}`,
  )
  return [...lines, hint].join('\n')
}

/** The reply as a channel without buttons shows it: with the numbered answers to its question. */
export function plainReply({ text, answerList }: { text: string; answerList?: string | undefined }): string {
  return answerList ? `${text}\n\n${answerList}`.trimStart() : text
}

/** The answer that stands for the chosen options. */
export function chosenLabels({ options }: GivenChoices, chosen: readonly number[]): string {
  return chosen.flatMap((at) => options[at]?.label ?? []).join(', ')
}

const number =
  /^(?:(?:number|no\.?|nr\.?|option|nummer|número|numéro|opción|#|第|رقم|الرقم|番号|选|選) ?)?\(?(\d{1,2})[.):]?(?: ?(?:番目?|つ目|号|號|个|個))?$/
const separators = /\s*(?:[,;+&/、，；،؛]|\band\b|\bund\b|\bet\b|\by\b)\s*|\s+(?=\d)/u

/** The places of the options that the text chooses: by number, by label or by both. Undefined for any other text. */
export function readChoices(text: string, choices: GivenChoices): number[] | undefined {
  const said = simple(text)
  const one = placeOf(said, choices)
  if (one !== undefined) return [one]
  if (!choices.multiple || said === '') return undefined
  const places = said.split(separators).map((part) => placeOf(part, choices))
  if (places.includes(undefined)) return placesOfLabels(said, choices)
  return [...new Set(places as number[])].sort((a, b) => a - b)
}

/** A label wins over a number: an option may be called "5". */
function placeOf(said: string, { options }: GivenChoices): number | undefined {
  const labels = options.map(({ label }) => simple(label))
  const named = labels.indexOf(said)
  if (named >= 0) return named
  const [, digits] = number.exec(said) ?? []
  if (digits !== undefined) return digits !== '0' && Number(digits) <= options.length ? Number(digits) - 1 : undefined
  const [, first, rest = ''] = /^(\d{1,2})[.):]? +(.+)$/.exec(said) ?? []
  const both = labels.indexOf(rest)
  return both >= 0 && Number(first) === both + 1 ? both : undefined
}

/** Labels that contain a separator themselves, joined as `labelsOf` joins them. */
function placesOfLabels(said: string, { options }: GivenChoices): number[] | undefined {
  const places: number[] = []
  let rest = said
  for (const [at, { label }] of options.entries()) {
    const wanted = simple(label)
    if (rest !== wanted && !rest.startsWith(`${wanted}, `)) continue
    places.push(at)
    rest = rest.slice(wanted.length + 2)
    if (rest === '') return places
  }
  return undefined
}

function simple(text: string): string {
  return text
    .normalize('NFKC')
    .replaceAll(/[\u0660-\u0669]/g, (digit) => String(digit.charCodeAt(0) - 0x0660))
    .replaceAll(/[\u06f0-\u06f9]/g, (digit) => String(digit.charCodeAt(0) - 0x06f0))
    .toLowerCase()
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/[.!。！]+$/, '')
}

/** Whether two options would be the same answer. */
function hasTwins(labels: readonly string[]): boolean {
  return new Set(labels.map(simple)).size < labels.length
}

/** A limit that is checked and not part of the schema, which costs tokens in every request. */
function isShort(text: z.ZodString, limit: number) {
  return text.refine((value) => value.length <= limit, `must have at most ${limit} characters`)
}

const optionSchema = z.object({
  label: isShort(z.string().trim().min(1), 80),
  description: isShort(z.string().trim(), 200).optional(),
})

/** The choices as fields of a question. */
export const offerFields = {
  options: choicesSchema.shape.options.optional(),
  allow_text: z.boolean().optional(),
  multiple: z.boolean().optional(),
}
export type OfferedChoices = z.output<z.ZodObject<typeof offerFields>>

/** The arguments of a tool that asks. */
export const askInputSchema = z.object({
  question: isShort(z.string().trim().min(1), 2_000),
  ...offerFields,
  options: z
    .array(optionSchema)
    .min(2)
    .max(6)
    .refine((options) => !hasTwins(options.map(({ label }) => label)), 'two options have the same label')
    .optional(),
})

/** Undefined for a question without options. */
export function choicesIn(offer: OfferedChoices): Choices | undefined {
  const { options, allow_text: allowText = true, multiple = false } = offer
  return options && { options, allowText, multiple }
}
