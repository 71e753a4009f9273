import { afterEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type LocalSite, openLocalSite } from '../../../test/support/local-site.ts'
import { toolContext } from '../../../test/support/tool-context.ts'
import { systemClock } from '../../base/clock.ts'
import { createIds } from '../../base/ids.ts'
import { createRunChild } from '../../base/processes.ts'
import { createFindTools } from '../../custom-tools/find-tools.ts'
import { createOfflineModel } from '../../models/offline/offline-model.ts'
import type { AssistantPart, ModelMessage } from '../../protocol/messages.ts'
import { createGuardedFetch } from '../../security/network/guarded-fetch.ts'
import { createToolRegistry } from '../registry.ts'
import { defineTool, succeeded } from '../tool.ts'
import { createFetches } from './fetches.ts'
import { createWebTools } from './outside-tools.ts'

const clock = systemClock()
let site: LocalSite | undefined
afterEach(async () => {
  await site?.close()
  site = undefined
})

const weather = defineTool({
  name: 'weather',
  description: 'Weather of a city.',
  input: z.object({ city: z.string(), days: z.int().default(1) }),
  effect: 'idempotent',
  run: async ({ city, days }) => succeeded(`${city}: sun for ${days} days`),
})

const registry = createToolRegistry([
  weather,
  ...createWebTools({
    webSearch: () => null,
    fetches: createFetches((allowedHosts) => createGuardedFetch({ allowedHosts })),
    allowedHosts: () => (site ? [{ host: '127.0.0.1', port: site.port }] : []),
    runChild: createRunChild({ clock }),
    clock,
  }),
])
registry.add(createFindTools({ registry }))

/** A minimal turn loop: the model is called until it replies with text. */
async function send(text: string): Promise<string> {
  const model = createOfflineModel({ ids: createIds(clock) })
  const messages: ModelMessage[] = [{ role: 'user', parts: [{ type: 'text', text }] }]
  const tools = registry.list().filter((tool) => tool.core)
  for (;;) {
    const request = { system: [], messages, tools: tools.map((tool) => tool.definition), maxTokens: 1_000 }
    const parts: AssistantPart[] = []
    const signal = new AbortController().signal
    for await (const event of model.stream({ ...request, loadMedia: async () => new Uint8Array() }, signal)) {
      if (event.type === 'finished') parts.push(...event.response.parts)
    }
    const calls = parts.filter((part) => part.type === 'tool_call')
    if (calls.length === 0) return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
    messages.push({ role: 'assistant', parts })
    const results = await Promise.all(
      calls.map(async ({ id, name, input }) => {
        const outcome = await registry.find(name)?.run(input, toolContext())
        return {
          callId: id,
          name,
          text: outcome?.text ?? `There is no tool named ${name}.`,
          isError: !outcome || outcome.isError,
        }
      }),
    )
    messages.push({ role: 'tool', results })
  }
}

describe('tools without a language model', () => {
  it.each([
    ['Run the tool weather with city Valletta, days 3', 'Valletta: sun for 3 days'],
    ['Please use tool weather for Valletta', 'Valletta: sun for 1 days'],
    [
      'run the tool “weather” with city: St. Julian’s. It is by the sea.',
      'St. Julian’s. It is by the sea.: sun for 1 days',
    ],
    ['run the tool weather', 'weather needs city. Say “Run the tool weather with city …”.'],
    [
      'run the tool nonsense with city Rome',
      'There is no tool named “nonsense”. `familiar tools list` lists the tools.',
    ],
  ])('OFFLINE-4 fills parameters from the sentence: “%s”', async (words, reply) => {
    expect(await send(words)).toBe(reply)
  })

  it('OFFLINE-4 reads an address', async () => {
    site = await openLocalSite((_request, response) =>
      response.setHeader('content-type', 'text/html').end('<title>News</title><p>Rain is over.</p>'),
    )
    for (const words of [
      `Fetch ${site.origin}/news.`,
      `Could you please read ${site.origin}/news for me?`,
      `${site.origin}/news`,
    ]) {
      expect(await send(words)).toBe(`# News\n${site.origin}/news\n\nRain is over.`)
    }
  })

  it('OFFLINE-4 says what the web tools need', async () => {
    expect(await send('Search the web for tea houses')).toContain('[tools.web_search]')
    expect(await send('read example.invalid/page')).toContain('example.invalid could not be reached')
  })
})
