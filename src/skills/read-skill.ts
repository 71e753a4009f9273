import type { Skill } from './skill.ts'
import { isSkillName, toSkillName } from './skill-name.ts'
import { splitFrontMatter } from './split-front-matter.ts'
import { readYaml } from './yaml/read-yaml.ts'
import type { YamlValue } from './yaml/yaml-value.ts'

export type SkillReading = { ok: true; skill: Skill } | { ok: false; problem: string }

const mostFrontMatter = 64 * 1024
const longestDescription = 1_024

/**
 * A SKILL.md as published. What the format requires and public skills leave out is filled in where there is one thing it
 * can be: a missing name is that of the folder, a missing description the first words of the text. Never throws.
 */
export function readSkill(text: string, { folder }: { folder: string }): SkillReading {
  const split = splitFrontMatter(text)
  if (split.kind === 'foreign')
    return wrong(`its front matter is written in ${split.language.slice(0, 20)}, not in YAML`)
  if (split.kind === 'open') return wrong('its front matter has no end: a line of ---')
  const fields = split.kind === 'yaml' ? readFields(split.yaml) : { ok: true as const, value: {} }
  if (!fields.ok) return fields
  const { value } = fields
  const notes: string[] = []
  const name = nameOf(scalar(value.name), folder, notes)
  if (name === undefined) return wrong(`${JSON.stringify(folder)} can be no name: small letters, digits and "-"`)
  const description = descriptionOf(scalar(value.description), split.body, notes)
  if (description === undefined) return wrong('it says nothing of what it is for (description)')
  return {
    ok: true,
    skill: {
      name,
      description,
      instructions: split.body,
      isAlways: isTrue(value.always) || isTrue(inner(value.metadata, 'always')),
      license: scalar(value.license) ?? null,
      compatibility: scalar(value.compatibility) ?? null,
      notes,
    },
  }
}

function readFields(
  yaml: string,
): { ok: true; value: Record<string, YamlValue> } | Extract<SkillReading, { ok: false }> {
  if (yaml.length > mostFrontMatter) return wrong('its front matter has more than 64 KB')
  const reading = readYaml(yaml)
  // The line of the file: the first is the one of ---.
  if (!reading.ok) return wrong(`line ${reading.line + 1} ${reading.problem}`)
  const { value } = reading
  if (typeof value === 'string' || Array.isArray(value))
    return wrong('its front matter has no fields (name, description)')
  return { ok: true, value }
}

function wrong(problem: string): Extract<SkillReading, { ok: false }> {
  return { ok: false, problem: `SKILL.md: ${problem}` }
}

function nameOf(written: string | undefined, folder: string, notes: string[]): string | undefined {
  if (written !== undefined && isSkillName(written)) return written
  const name = isSkillName(folder) ? folder : toSkillName(folder)
  if (written !== undefined)
    notes.push(`It calls itself ${JSON.stringify(written.slice(0, 80))}, which can be no name.`)
  return name
}

function descriptionOf(written: string | undefined, body: string, notes: string[]): string | undefined {
  const text = oneLine(written ?? '') || firstWords(body)
  if (text === '') return undefined
  if (!written) notes.push('It has no description: its first words are taken.')
  if (text.length <= longestDescription) return text
  notes.push(`Its description has ${text.length} characters and is cut to ${longestDescription}.`)
  return `${text.slice(0, longestDescription - 1).toWellFormed()}…`
}

/** Of the first paragraph that is no heading, or of the heading where there is nothing else. */
function firstWords(body: string): string {
  const paragraphs = body.split(/\n\s*\n/).map(oneLine)
  const words = paragraphs.find((text) => text !== '' && !text.startsWith('#')) ?? paragraphs[0] ?? ''
  return words
    .replace(/^#+\s*/, '')
    .slice(0, 200)
    .toWellFormed()
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

function scalar(value: YamlValue | undefined): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

function inner(value: YamlValue | undefined, key: string): YamlValue | undefined {
  if (value === undefined || typeof value === 'string' || Array.isArray(value)) return undefined
  return Object.hasOwn(value, key) ? value[key] : undefined
}

function isTrue(value: YamlValue | undefined): boolean {
  return typeof value === 'string' && /^true$/i.test(value)
}
