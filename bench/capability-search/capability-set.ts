import { readFileSync } from 'node:fs'
import { seededRandom } from '../recall-scale/seeded-random.ts'
import { fields, neighbouringSubjects, neighbouringWork, places, type Work, work } from './vocabulary.ts'

export interface BenchCapability {
  name: string
  description: string
  tags: readonly string[]
}

export interface BenchQuestion {
  text: string
  /** The same wish, hinted at: whoever does not know the subject could not tell what is meant. */
  hint: string
  /** The name of the one that answers it. */
  answer: string
}

/** The hand-written ones, each with a question that it answers. */
export function readTargets(): { capabilities: BenchCapability[]; questions: BenchQuestion[] } {
  const text = readFileSync(new URL('./targets.txt', import.meta.url), 'utf8')
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  const entries = lines.map((line) => line.split(' | ').map((part) => part.trim()))
  return {
    capabilities: entries.map(([name = '', description = '', tags = '']) => ({
      name,
      description,
      tags: tags.split(', '),
    })),
    questions: entries.map(([answer = '', , , text = '', hint = '']) => ({ text, hint, answer })),
  }
}

/** As many as there are: first the neighbours of the targets, then other fields of work; always in the same order. */
export function makeDistractors(seed: number): BenchCapability[] {
  const random = seededRandom(seed)
  const made = new Map<string, BenchCapability>()
  const add = (subject: string, [action, sentence, tags]: Work, field = '') => {
    const name = [slug(field), slug(subject), action].filter(Boolean).join('_').slice(0, 48)
    const place = random.pick(places)
    const description = sentence.replace('#', subject).replace(/\.$/, place === '' ? '.' : `, ${place}.`)
    const subjects = [field.replaceAll('_', ' '), ...subject.split(' ')].filter(Boolean)
    if (!made.has(name)) made.set(name, { name, description, tags: [...subjects, ...tags.split(', ')] })
  }
  for (const subject of neighbouringSubjects) for (const one of neighbouringWork) add(subject, one)
  for (const [field, subjects] of Object.entries(fields)) {
    for (const subject of subjects) for (const one of work) add(subject, one, field)
  }
  return shuffled([...made.values()], seed + 1)
}

function shuffled<T>(items: T[], seed: number): T[] {
  const random = seededRandom(seed)
  return items
    .map((item) => ({ item, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

function slug(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
}
