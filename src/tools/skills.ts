import { z } from 'zod'
import { canonicalJson, parseJson } from '../base/json.ts'
import { cutText, oneLine } from '../base/text.ts'
import { estimateTokens } from '../base/tokens.ts'
import { contentWords, foldedWords } from '../memory/words.ts'
import { readYaml, type YamlValue } from './yaml.ts'

export interface Skill {
  name: string
  /** Its purpose and when to use it; one line. */
  description: string
  instructions: string
  /** Its instructions are included in every prompt. */
  isAlways: boolean
  license: string | null
  compatibility: string | null
  /** Python packages, or `npm:NAME`, that its scripts need. */
  packages: readonly string[]
  /** Deviations from the format that were accepted. */
  notes: readonly string[]
}

/** Its location. Skills in the workspace are the user's own; others are untrusted until the owner approves them. */
export type SkillOrigin = 'workspace' | 'imported' | 'directory'

export function findSkills<T extends Pick<Skill, 'name' | 'description'>>(
  skills: readonly T[],
  query: string,
  limit = 5,
): T[] {
  const wanted = new Set(wordsOf(query))
  const countIn = (text: string) => wordsOf(text).filter((word) => wanted.has(word)).length
  return skills
    .map((skill) => ({ skill, score: 2 * countIn(skill.name.replaceAll(/[-_]/g, ' ')) + countIn(skill.description) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.skill.name < b.skill.name ? -1 : 1))
    .slice(0, limit)
    .map(({ skill }) => skill)
}

function wordsOf(text: string): string[] {
  return [...new Set(contentWords(text).flatMap(foldedWords))]
}

/** The format's names, plus underscores: usable in tools of models and shells without quotes. */
const skillName = /^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$/

export function isSkillName(text: string): boolean {
  return skillName.test(text)
}

/** The nearest valid name: `PDF Forms` becomes `pdf-forms`. Undefined if nothing is left. */
function toSkillName(text: string): string | undefined {
  const name = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .slice(0, 64)
    .replaceAll(/^[-_]+|[-_]+$/g, '')
  return isSkillName(name) ? name : undefined
}

/** The text, and its front matter between two lines of `---` if it has one. */
function splitFrontMatter(written: string): { ok: true; yaml: string | null; body: string } | NoSkill {
  const text = written.replace(/^\ufeff/, '').replaceAll(/\r\n?/g, '\n')
  const opening = /^---(?!-)[ \t]*([^\n]*)\n?/.exec(text)
  if (!opening) return { ok: true, yaml: null, body: text.trim() }
  // `---js` and the like: a language that some readers execute. This one executes nothing.
  const language = opening[1]?.trim() ?? ''
  if (language !== '' && !language.startsWith('#') && !/^ya?ml$/i.test(language)) {
    return wrong(`its front matter is written in ${language.slice(0, 20)}, not in YAML`)
  }
  const rest = text.slice(opening[0].length)
  const closing = /^(?:---|\.\.\.)[ \t]*$/m.exec(rest)
  if (!closing) return wrong('its front matter has no end: a line of ---')
  const body = rest.slice(closing.index + closing[0].length).trim()
  return { ok: true, yaml: rest.slice(0, closing.index), body }
}

type NoSkill = { ok: false; problem: string }
type SkillReading = { ok: true; skill: Skill } | NoSkill

const maxFrontMatter = 64 * 1024
const maxDescriptionLength = 1_024

/**
 * Reads a published SKILL.md. Required fields that public skills omit are filled in if unambiguous: a missing name from
 * the folder, a missing description from the first words of the text. Never throws.
 */
export async function readSkill(text: string, { folder }: { folder: string }): Promise<SkillReading> {
  const split = splitFrontMatter(text)
  if (!split.ok) return split
  const fields = split.yaml === null ? { ok: true as const, value: {} } : await readFields(split.yaml)
  if (!fields.ok) return fields
  const { value } = fields
  const notes: string[] = []
  const name = nameOf(scalar(value.name), folder, notes)
  if (name === undefined)
    return wrong(`${JSON.stringify(folder)} is not a valid name: use lower-case letters, digits and "-"`)
  const description = descriptionOf(scalar(value.description), split.body, notes)
  if (description === undefined) return wrong('it has no description')
  return {
    ok: true,
    skill: {
      name,
      description,
      instructions: split.body,
      isAlways: isTrue(value.always) || isTrue(inner(value.metadata, 'always')),
      license: scalar(value.license) ?? null,
      compatibility: scalar(value.compatibility) ?? null,
      packages: packagesOf(value.packages ?? inner(value.metadata, 'packages')),
      notes,
    },
  }
}

async function readFields(yaml: string): Promise<{ ok: true; value: Record<string, YamlValue> } | NoSkill> {
  if (yaml.length > maxFrontMatter) return wrong('its front matter has more than 64 KB')
  const reading = await readYaml(yaml)
  // The line of the file: the first is the one of ---.
  if (!reading.ok) return wrong(`line ${reading.line + 1} ${reading.problem}`)
  const { value } = reading
  if (typeof value === 'string' || Array.isArray(value))
    return wrong('its front matter has no fields (name, description)')
  return { ok: true, value }
}

function wrong(problem: string): NoSkill {
  return { ok: false, problem: `SKILL.md: ${problem}` }
}

function nameOf(written: string | undefined, folder: string, notes: string[]): string | undefined {
  if (written !== undefined && isSkillName(written)) return written
  const name = isSkillName(folder) ? folder : toSkillName(folder)
  if (written !== undefined) notes.push(`Its name is ${JSON.stringify(written.slice(0, 80))}, which is not valid.`)
  return name
}

function descriptionOf(written: string | undefined, body: string, notes: string[]): string | undefined {
  const text = oneLine(written ?? '') || firstWords(body)
  if (text === '') return undefined
  if (!written) notes.push('It has no description: its first words are used.')
  if (text.length <= maxDescriptionLength) return text
  notes.push(`Its description has ${text.length} characters and is cut to ${maxDescriptionLength}.`)
  return oneLine(text, maxDescriptionLength)
}

/** From the first paragraph that is not a heading, or from the heading if there is nothing else. */
function firstWords(body: string): string {
  const paragraphs = body.split(/\n\s*\n/).map((paragraph) => oneLine(paragraph))
  const words = paragraphs.find((text) => text !== '' && !text.startsWith('#')) ?? paragraphs[0] ?? ''
  return cutText(words.replace(/^#+\s*/, ''), 200)
}

function scalar(value: YamlValue | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

function inner(value: YamlValue | undefined, key: string): YamlValue | undefined {
  if (value === undefined || typeof value === 'string' || Array.isArray(value)) return undefined
  return Object.hasOwn(value, key) ? value[key] : undefined
}

const maxPackages = 20

/** A list, or names in one line with blanks or commas between them. */
function packagesOf(value: YamlValue | undefined): string[] {
  const names = Array.isArray(value) ? value.map((one) => scalar(one)) : (scalar(value)?.split(/[\s,]+/) ?? [])
  return names.filter((name) => name !== undefined && name !== '').slice(0, maxPackages) as string[]
}

function isTrue(value: YamlValue | undefined): boolean {
  return typeof value === 'string' && /^true$/i.test(value)
}

const fingerprintSchema = z.object({ instructions: z.string(), files: z.string() })
export type SkillFingerprint = z.infer<typeof fingerprintSchema>

export interface SkillState {
  isEnabled: boolean
  /** Its fingerprint when it was approved; null if it was not. */
  fingerprint: string | null
}

interface JudgedSkill {
  name: string
  origin: SkillOrigin
  fingerprint: SkillFingerprint
}

/**
 * Why a skill is off; undefined if it is on. Workspace skills are the user's own, including every change. Others are
 * untrusted until the owner has approved exactly this state (SEC-14).
 */
export function whySkillOff(
  { name, origin, fingerprint }: JudgedSkill,
  state: SkillState | undefined,
): string | undefined {
  const enable = `familiar skills enable ${name}`
  const off = `Off. To enable it: ${enable}`
  if (origin === 'workspace') return state?.isEnabled === false ? off : undefined
  const parsed = state?.fingerprint ? parseJson(state.fingerprint, fingerprintSchema) : undefined
  if (!parsed?.ok) return `It comes from elsewhere and is not approved yet. To approve it: ${enable}`
  const approved = parsed.value
  const changes = [
    ...(approved.instructions === fingerprint.instructions ? [] : ['what it says']),
    ...(approved.files === fingerprint.files ? [] : ['its files']),
  ]
  if (changes.length > 0) return `Changed since it was approved (${changes.join(', ')}). To approve it again: ${enable}`
  return state?.isEnabled ? undefined : off
}

export function approvedSkill({ origin, fingerprint }: JudgedSkill): SkillState {
  return { isEnabled: true, fingerprint: origin === 'workspace' ? null : canonicalJson(fingerprint) }
}

const heading = 'Skills: instructions for certain tasks. Call load_skill before such a task to read one.'
/** Tried in order: all of them in fewer words are better than some in many. */
const lineLengths = [240, 120, 70]

/** A line for each, shorter if there are many, as many as fit, and a count of the rest. Undefined if there are none. */
export function skillLines(
  skills: readonly Pick<Skill, 'name' | 'description'>[],
  budgetTokens = 600,
): string | undefined {
  if (skills.length === 0) return undefined
  const sorted = skills.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  for (const length of lineLengths) {
    const lines = sorted.map((skill) => lineOf(skill, length))
    const text = textOf(lines, sorted.length)
    if (estimateTokens(text) <= budgetTokens) return text
  }
  const lines: string[] = []
  for (const skill of sorted) {
    const next = [...lines, lineOf(skill, lineLengths.at(-1) ?? 0)]
    if (estimateTokens(textOf(next, sorted.length)) > budgetTokens) break
    lines.push(next.at(-1) ?? '')
  }
  return textOf(lines, sorted.length)
}

function textOf(lines: readonly string[], all: number): string {
  const more = all - lines.length
  return [heading, ...lines, ...(more === 0 ? [] : [`- and ${more} more; load_skill searches them.`])].join('\n')
}

function lineOf({ name, description }: Pick<Skill, 'name' | 'description'>, longest: number): string {
  return oneLine(`- ${name}: ${description}`, longest)
}
