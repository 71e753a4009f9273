import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { FamiliarError } from '../protocol/errors.ts'
import type { Json } from '../protocol/messages.ts'
import { defineTool, succeeded, type ToolContext } from './tool.ts'

const context: ToolContext = {
  userId: 'max',
  sessionId: 'session',
  turnId: 'turn',
  callId: 'call',
  userText: '',
  answers: null,
  seen: { untrusted: false, private: false },
  signal: new AbortController().signal,
  mayFollow: async () => true,
  progress: () => {},
}

const input = z.object({
  content: z.string().min(1).describe('the text to keep'),
  count: z.int().optional(),
  limit: z.int().min(1).max(20).default(5),
  place: z.object({ city: z.string() }).optional(),
})

const echo = defineTool({
  name: 'echo',
  description: 'Say it again.',
  input,
  effect: 'idempotent',
  run: async (given) => succeeded(JSON.stringify(given)),
})

describe('defineTool', () => {
  it('TOOLS-1 bad arguments give an error result that names the field and what was expected', async () => {
    const cases: [Json, string][] = [
      [{ content: 4 }, 'content: Invalid input: expected string, received number'],
      [{}, 'content: Invalid input: expected string, received undefined'],
      [{ content: '' }, 'content: Too small'],
      [{ content: 'a', limit: 99 }, 'limit: Too big: expected number to be <=20'],
      [{ content: 'a', place: { city: 1 } }, 'place.city: Invalid input: expected string'],
      [['a'], 'arguments: Invalid input: expected object, received array'],
      [7, 'arguments: Invalid input: expected object, received number'],
      [null, 'content: Invalid input'],
      ['', 'content: Invalid input'],
    ]
    for (const [given, message] of cases) {
      const outcome = await echo.run(given, context)
      expect(outcome.isError).toBe(true)
      expect(outcome.text).toContain('Bad arguments for echo. ')
      expect(outcome.text).toContain(message)
    }
  })

  it('TOOLS-1 arguments that are not JSON are reported to the model', async () => {
    const broken = await echo.run('{"content": "unfinis', context)
    expect(broken).toMatchObject({ isError: true })
    expect(broken.text).toContain('must be a JSON object')
    expect(broken.text).toContain('{\\"content\\": \\"unfinis')
    expect(await echo.run('"words"', context)).toMatchObject({ isError: true })
  })

  it('TOOLS-1 the tool throws for no arguments at all', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (given) => {
        expect((await echo.run(given as Json, context)).text).not.toBe('')
      }),
    )
  })

  it('TOOLS-1 good arguments arrive parsed: defaults filled, unknown keys dropped, double encoding undone', async () => {
    const expected = { text: '{"content":"a","limit":5}', isError: false }
    expect(await echo.run({ content: 'a', other: 1 }, context)).toEqual(expected)
    expect(await echo.run('{"content":"a"}', context)).toEqual(expected)
  })

  it('TOOLS-1 an expected failure is a result, a bug is thrown', async () => {
    const failing = (error: Error) =>
      defineTool({
        name: 'failing',
        description: '',
        input: z.object({}),
        effect: 'idempotent',
        run: () => Promise.reject(error),
      })
    expect(await failing(new FamiliarError('not_found', 'no such thing')).run({}, context)).toEqual({
      text: 'no such thing',
      isError: true,
    })
    await expect(failing(new FamiliarError('storage_full', 'full')).run({}, context)).rejects.toThrow('full')
    await expect(failing(new Error('fault')).run({}, context)).rejects.toThrow('fault')
  })

  it('TOOLS-2 the schema contains only what a model needs', () => {
    expect(echo.definition).toEqual({
      name: 'echo',
      description: 'Say it again.',
      inputSchema: {
        type: 'object',
        properties: {
          content: { type: 'string', description: 'the text to keep' },
          count: { type: 'integer' },
          limit: { type: 'integer', minimum: 1, maximum: 20, default: 5 },
          place: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        },
        required: ['content'],
      },
    })
  })

  it('TOOLS-2 a strict tool closes every object of its schema', () => {
    const strict = defineTool({
      name: 'strict',
      description: '',
      input: z.object({ minLength: z.string(), places: z.array(z.object({ city: z.string() })) }),
      effect: 'idempotent',
      strict: true,
      run: async () => succeeded('done'),
    })
    expect(strict.definition.strict).toBe(true)
    expect(strict.definition.inputSchema).toEqual({
      type: 'object',
      properties: {
        minLength: { type: 'string' },
        places: {
          type: 'array',
          items: {
            type: 'object',
            properties: { city: { type: 'string' } },
            required: ['city'],
            additionalProperties: false,
          },
        },
      },
      required: ['minLength', 'places'],
      additionalProperties: false,
    })
  })
})
