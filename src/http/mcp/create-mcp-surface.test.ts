import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anyText } from '../../../test/support/any-text.ts'
import { openScriptedFamiliar, type ScriptedFamiliar } from '../../../test/support/scripted-familiar.ts'
import { createScriptedModel } from '../../../test/support/scripted-model.ts'
import { systemClock } from '../../base/clock.ts'
import { silentLogger } from '../../base/logger.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { McpSurface } from './mcp-server.ts'
import { createMcpSurface } from './mcp-surface.ts'

describe('createMcpSurface', () => {
  let familiar: ScriptedFamiliar
  let surface: McpSurface
  beforeAll(async () => {
    familiar = await openScriptedFamiliar({ model: createScriptedModel({ script: () => ({ text: 'Hello.' }) }) })
    const { userId } = familiar
    surface = createMcpSurface(
      {
        ...familiar,
        name: 'Familiar',
        version: '0',
        allowsTool: () => true,
        clock: systemClock(),
        timeZone: 'UTC',
        logger: silentLogger,
      },
      { userId, tokenId: 'token', scope: 'owner' },
    )
  })
  afterAll(() => familiar.close())

  const call = { signal: new AbortController().signal, progress: () => undefined }
  const anything = fc.oneof(
    fc.json().map((text) => JSON.parse(text) as unknown),
    anyText,
  )
  const kinds = fc.constantFrom('note', 'fact', 'commitment', '__proto__')
  const shaped: Record<string, fc.Arbitrary<unknown>> = {
    recall: fc.record({ query: anyText, limit: fc.oneof(fc.integer(), anything), explain: fc.boolean() }),
    store: fc
      .tuple(
        kinds,
        fc.dictionary(
          fc.constantFrom('text', 'title', 'tags', 'entity', 'attribute', 'value', 'what', 'who', 'to', 'deadline'),
          fc.oneof(anyText, fc.array(anyText), fc.constant('2030-01-01')),
        ),
      )
      .map(([kind, fields]) => ({ kind, ...fields })),
    forget: fc.record({ id: fc.oneof(anyText, fc.constant('[memory:x]')) }),
    // A message that is one would begin a turn.
    ask: fc.record({ message: fc.constant(''), session: anything }),
  }

  for (const name of Object.keys(shaped)) {
    it(`MCP-1 ${name} answers any input with a result or a reason`, async () => {
      const given = fc.oneof(anything, shaped[name] ?? anything)
      await fc.assert(
        fc.asyncProperty(given, async (input) => {
          const answer = await surface.tools
            .find(name)
            ?.run(input, call)
            .catch((cause: unknown) => cause)
          if (answer instanceof Error) expect(answer).toBeInstanceOf(FamiliarError)
          else expect(answer).toMatchObject({ content: [{ type: 'text', text: expect.any(String) }] })
        }),
        { numRuns: 60 },
      )
    })
  }

  it('MCP-1 reads, lists and completes with any text, and finds nothing by it', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        expect(await surface.resources.read(text)).toBeUndefined()
        expect(await surface.resources.read(`familiar:///sessions/${text}`)).toBeUndefined()
        expect(await surface.resources.complete(text, { argument: text, value: text })).toEqual([])
        expect(surface.prompts.get(text, { request: text })).toBeUndefined()
        expect(surface.tools.find(text)).toBeUndefined()
      }),
      { numRuns: 60 },
    )
  })

  it('MCP-1 its tool descriptions contain no user data', async () => {
    const hints = surface.tools.list().map(({ listed: { name, annotations } }) => {
      return `${name} ${annotations?.readOnlyHint ? 'reads' : annotations?.destructiveHint ? 'destroys' : 'adds'}`
    })
    expect(hints).toEqual(['recall reads', 'store adds', 'forget destroys', 'ask destroys'])
    for (const { listed } of surface.tools.list()) {
      expect(listed.inputSchema.type).toBe('object')
      expect(listed.outputSchema?.type).toBe('object')
      // A client refuses a choice at the top of a schema.
      expect(Object.keys(listed.inputSchema)).not.toContain('oneOf')
    }
  })
})
