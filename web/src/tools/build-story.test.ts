import { describe, expect, it } from 'vitest'
import type { BuildEvent } from '../../../src/protocol/custom-tools.ts'
import { addBuildEvent, type BuildStoryQuestion, choicesOf, emptyStory } from './build-story.ts'

const at = '2026-11-15T10:00:00.000Z'
const head = (seq: number) => ({ build_id: 'b1', seq, at })
const question: BuildEvent = {
  ...head(2),
  type: 'question',
  question_id: 'q1',
  question: 'Celsius or Fahrenheit?',
  expires_at: at,
}
const secret: BuildEvent = {
  ...head(3),
  type: 'secret_request',
  question_id: 'q2',
  question: 'The key of the service',
  secret: 'KEY',
  expires_at: at,
}

const asking = (question: string, options: string[] = []): BuildStoryQuestion => {
  return { id: 'q', question, options, multiple: false, secret: null, expiresAt: '' }
}

describe('the story of a build', () => {
  it('CAP-7 grows event by event, and shows no event twice', () => {
    const events: BuildEvent[] = [
      { ...head(1), type: 'progress', message: 'main.py is written, 12 bytes.' },
      question,
      secret,
      { ...head(4), type: 'answer', question_id: 'q1', answer: 'Celsius', is_expired: false },
      { ...head(5), type: 'progress', message: 'A try failed.' },
    ]
    const story = events.reduce(addBuildEvent, emptyStory)
    expect(events.reduce(addBuildEvent, story)).toBe(story)
    expect(story.lines.map(({ kind }) => kind)).toEqual(['file', 'question', 'question', 'answer', 'failure'])
    expect(story.open).toEqual([
      { id: 'q2', question: 'The key of the service', options: [], multiple: false, secret: 'KEY', expiresAt: at },
    ])
    expect(story).toMatchObject({ end: null, cursor: 5 })
  })

  it('CAP-7 ends with nothing left to answer', () => {
    const done: BuildEvent = { ...head(4), type: 'complete', name: 'weather', version: 1, message: 'It is ready.' }
    expect([question, secret, done].reduce(addBuildEvent, emptyStory)).toMatchObject({ end: 'complete', open: [] })
    const failed: BuildEvent = { ...head(4), type: 'error', message: 'It was stopped.' }
    expect([question, failed].reduce(addBuildEvent, emptyStory)).toMatchObject({ end: 'error', open: [] })
  })

  it('CAP-7 a question has buttons where its words name the answers', () => {
    expect(choicesOf(asking('Celsius or Fahrenheit?'))).toEqual(['Celsius', 'Fahrenheit'])
    expect(choicesOf(asking('Which unit do you want: metric or imperial?'))).toEqual(['metric', 'imperial'])
    expect(choicesOf(asking('Building x wants to reach a.example. Allow it? yes or no'))).toEqual(['yes', 'no'])
    expect(choicesOf(asking('Which city?'))).toEqual([])
    expect(choicesOf(asking('Which city, or none?', ['Oslo', 'None']))).toEqual(['Oslo', 'None'])
    expect(choicesOf(asking('Should it tell the weather or the news of the day?'))).toEqual([])
  })
})
