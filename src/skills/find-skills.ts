import { contentWords } from '../memory/content-words.ts'
import { foldedWords } from '../memory/fold-text.ts'
import type { Skill } from './skill.ts'

/** Those whose name or description has words of the query, the best first. */
export function findSkills<T extends Pick<Skill, 'name' | 'description'>>(
  skills: readonly T[],
  query: string,
  limit = 5,
): T[] {
  const wanted = new Set(wordsOf(query))
  return skills
    .map((skill) => ({ skill, score: scoreOf(skill, wanted) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.skill.name < b.skill.name ? -1 : 1))
    .slice(0, limit)
    .map(({ skill }) => skill)
}

function scoreOf({ name, description }: Pick<Skill, 'name' | 'description'>, wanted: ReadonlySet<string>): number {
  const inName = wordsOf(name.replaceAll(/[-_]/g, ' ')).filter((word) => wanted.has(word)).length
  const inDescription = wordsOf(description).filter((word) => wanted.has(word)).length
  return 2 * inName + inDescription
}

function wordsOf(text: string): string[] {
  return [...new Set(contentWords(text).flatMap(foldedWords))]
}
