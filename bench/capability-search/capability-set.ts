import { readFileSync } from 'node:fs'
import { seededRandom } from '../recall-scale/seeded-random.ts'
import { distractorSamples } from './distractor-samples.ts'
import { fields, neighbouringSubjects, neighbouringWork, places, type Work, work } from './vocabulary.ts'

export interface BenchCapability {
  name: string
  description: string
  tags: readonly string[]
  /** Four sentences, as the Builder is asked for them. */
  askedAs: readonly string[]
}

export interface BenchQuestion {
  text: string
  /** The same wish as a hint, which only makes sense to someone who knows the subject. */
  hint: string
  /** And once more, in words that neither the name nor the description has. */
  fresh: string
  /** The name of the one that answers it. */
  answer: string
}

/** The hand-written ones, each with questions that it answers. */
export function readTargets(): { capabilities: BenchCapability[]; questions: BenchQuestion[] } {
  const entries = readEntries('targets.txt')
  const samples = new Map(readEntries('samples.txt').map(([name = '', ...sentences]) => [name, sentences]))
  const fresh = new Map(readEntries('fresh-questions.txt').map(([name = '', text = '']) => [name, text]))
  return {
    capabilities: entries.map(([name = '', description = '', tags = '']) => ({
      name,
      description,
      tags: tags.split(', '),
      askedAs: samples.get(name) ?? [],
    })),
    questions: entries.map(([answer = '', , , text = '', hint = '']) => ({
      text,
      hint,
      fresh: fresh.get(answer) ?? '',
      answer,
    })),
  }
}

function readEntries(file: string): string[][] {
  const text = readFileSync(new URL(file, import.meta.url), 'utf8')
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => line.split(' | ').map((part) => part.trim()))
}

/** All distractors: first the neighbors of the targets, then other fields of work; always in the same order. */
export function makeDistractors(seed: number): BenchCapability[] {
  const random = seededRandom(seed)
  const made = new Map<string, BenchCapability>()
  const add = (subject: string, [action, sentence, tags]: Work, field = '') => {
    const name = [slug(field), slug(subject), action].filter(Boolean).join('_').slice(0, 48)
    const place = random.pick(places)
    const description = sentence.replace('#', subject).replace(/\.$/, place === '' ? '.' : `, ${place}.`)
    const subjects = [field.replaceAll('_', ' '), ...subject.split(' ')].filter(Boolean)
    const askedAs = (distractorSamples[action] ?? []).map((sample) => sample.replace('#', subject))
    if (!made.has(name)) made.set(name, { name, description, tags: [...subjects, ...tags.split(', ')], askedAs })
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
