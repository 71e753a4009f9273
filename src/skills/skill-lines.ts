import { estimateTokens } from '../base/tokens.ts'
import type { Skill } from './skill.ts'

const heading = 'Skills: instructions for certain tasks. load_skill gives one whole; do so before such a task.'
/** Tried one after the other: all of them in fewer words are worth more than some in many. */
const lineLengths = [240, 120, 70]

/**
 * A line for each, shorter where they are many, as many as fit, and how many more there are. The same skills give the same
 * bytes. Undefined where there is none.
 */
export function skillLines(
  skills: readonly Pick<Skill, 'name' | 'description'>[],
  budgetTokens = 600,
): string | undefined {
  if (skills.length === 0) return undefined
  const sorted = skills.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  for (const length of lineLengths) {
    const text = textOf(
      sorted.map((skill) => lineOf(skill, length)),
      sorted.length,
    )
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
  return [heading, ...lines, ...(more === 0 ? [] : [`- and ${more} more: load_skill finds them by words.`])].join('\n')
}

function lineOf({ name, description }: Pick<Skill, 'name' | 'description'>, longest: number): string {
  const line = `- ${name}: ${description}`
  return line.length > longest ? `${line.slice(0, longest - 1).toWellFormed()}…` : line
}
