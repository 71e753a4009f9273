import { expect, it } from 'vitest'
import { openScriptedFamiliar, said, toolOf } from '../../test/support/scripted-familiar.ts'
import { createScriptedModel } from '../../test/support/scripted-model.ts'
import { createTelemetry, type EndedSpan } from '../base/telemetry/telemetry.ts'
import { createWorkContext, logFieldsOf } from '../base/work.ts'

it('SCALE-7 spans of a turn carry its session, its turn and the request that caused it, also after waiting in a queue', async () => {
  const work = createWorkContext()
  const spans: EndedSpan[] = []
  const telemetry = createTelemetry({ work, onSpan: (span) => spans.push(span) })
  const seen: Record<string, Record<string, string>> = {}
  const look = toolOf('look', async (input, { sessionId, turnId }) => {
    await new Promise(setImmediate)
    const { trace: _, ...fields } = logFieldsOf(work.current())
    seen[JSON.stringify(input)] = fields
    expect(fields).toMatchObject({ session: sessionId, turn: turnId })
    return said('seen')
  })
  const model = createScriptedModel({
    script: ({ messages }) => {
      const last = messages.at(-1)
      if (last?.role !== 'user') return { text: 'Done.' }
      const text = last.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
      return { toolCalls: [{ name: 'look', input: /message \w+/.exec(text)?.[0] ?? '' }] }
    },
  })
  const toml = '[sessions]\nmax_concurrent_turns = 1\n[memory]\nextraction = false\n'
  const familiar = await openScriptedFamiliar({ model, tools: [look], toml, telemetry })
  const names = ['a', 'b', 'c', 'd']
  try {
    const sent = names.map((name) =>
      work.apart({ request: `request-${name}` }, () =>
        telemetry.inSpan({ operation: 'POST', target: name, kind: 'server' }, () =>
          familiar.conversations.submit(familiar.inbound(`message ${name}`, { contact: name })),
        ),
      ),
    )
    for (const { messageId } of await Promise.all(sent)) await familiar.conversations.waitForTurn(messageId)
    const byName = names.map((name) => seen[`"message ${name}"`]?.request)
    expect(byName).toEqual(names.map((name) => `request-${name}`))
    expect(new Set(Object.values(seen).map(({ turn }) => turn)).size).toBe(names.length)
    const turns = spans.filter(({ name }) => name === 'invoke_agent familiar')
    const requests = names.map((name) => spans.find((span) => span.name === `POST ${name}`)?.spanId)
    expect(turns.map(({ parentId }) => parentId).sort()).toEqual(requests.sort())
  } finally {
    await familiar.close()
  }
})
