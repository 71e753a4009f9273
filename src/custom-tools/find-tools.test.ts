import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { openCapabilityCatalog } from '../../test/support/capability-catalog.ts'
import { silentLogger } from '../base/logger.ts'
import { createToolRegistry } from '../tools/registry.ts'
import { defineTool, succeeded, type Tool, type ToolContext } from '../tools/tool.ts'
import { createCapabilityShelf } from './custom-tool.ts'
import { createFindTools, type ToolWeights } from './find-tools.ts'
import { createCapabilitySearch } from './search.ts'

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

function tool(name: string, description: string, core = false): Tool {
  const input = z.object({ city: z.string() })
  return defineTool({ name, description, input, core, effect: 'idempotent', run: async () => succeeded(name) })
}

async function find(tools: Tool[], query: string, weights?: ToolWeights) {
  const registry = createToolRegistry(tools)
  return await createFindTools({ registry, ...(weights && { weights }) }).run({ query }, context)
}

const weather = tool('weather_forecast', 'Tells rain and sun for a place.')
const messages = tool('schedule_message', 'Sends a message later.')
const core = tool('recall_memory', 'Search messages and weather.', true)

describe('find_tools', () => {
  it('TOOLS-2 finds the tools that are not core by name and description, with their schema', async () => {
    const { text, isError, foundTools } = await find([weather, messages, core], 'Will it rain? Check the weather')
    expect(isError).toBe(false)
    expect(foundTools).toEqual(['weather_forecast'])
    expect(text.split('\n').map((line) => JSON.parse(line))).toEqual([
      {
        name: 'weather_forecast',
        description: 'Tells rain and sun for a place.',
        input: weather.definition.inputSchema,
      },
    ])
    expect((await find([weather, messages, core], 'messages')).text).toContain('"schedule_message"')
    expect((await find([weather, messages, core], 'schedule_message')).text.split('\n')).toHaveLength(1)
  })

  it('TOOLS-2 names what there is where nothing fits, never without bound', async () => {
    expect(await find([weather, core], 'violin')).toEqual({
      text: 'No tool fits these words. There are: weather_forecast.',
      isError: true,
    })
    expect(await find([core], 'violin')).toEqual({ text: 'There are no further tools.', isError: true })
    const violin = tool('violin', 'Plays the violin.')
    const many = Array.from({ length: 10_000 }, (_, index) => ({
      ...violin,
      definition: { ...violin.definition, name: `tool_${index}` },
    }))
    const found = await find(many, 'violin')
    expect(found.text.split('\n')).toHaveLength(5)
    expect((await find(many, 'cello')).text).toContain('and 9980 more')
  })

  it('MEM-13 of tools that fit alike the one that served better comes first; words still decide', async () => {
    const tools = [
      tool('a_forecast', 'Rain and sun.'),
      tool('b_forecast', 'Rain and sun.'),
      tool('weather_forecast', 'Rain.'),
    ]
    const names = async (query: string, weights?: ToolWeights) => (await find(tools, query, weights)).foundTools
    const asked: unknown[] = []
    const weights: ToolWeights = async (...question) => {
      asked.push(question)
      return new Map([
        ['a_forecast', -1],
        ['b_forecast', 1],
        ['weather_forecast', -0.2],
      ])
    }
    expect(await names('forecast')).toEqual(['a_forecast', 'b_forecast', 'weather_forecast'])
    expect(await names('forecast', weights)).toEqual(['b_forecast', 'weather_forecast', 'a_forecast'])
    expect(await names('weather forecast', weights)).toEqual(['weather_forecast', 'b_forecast', 'a_forecast'])
    expect(asked[0]).toEqual(['max', ['forecast']])
  })

  it('CAP-1 capabilities stand between the tools by how well they fit, among themselves as their search has them', async () => {
    const home = await openCapabilityCatalog()
    const { catalog, database } = home
    await home.publish({ name: 'rain_radar', description: 'Where it rains now.' })
    await home.publish({ name: 'rain_diary', description: 'Keeps how much rain fell.' })
    await home.publish({ name: 'loan', description: 'Monthly payment.' })
    const search = createCapabilitySearch({ catalog, database, logger: silentLogger })
    const registry = createToolRegistry([weather, messages, core])
    const runs = { run: () => Promise.reject(new Error('nothing runs here')) }
    registry.addShelf(createCapabilityShelf({ catalog, runs, afterFailure: async () => undefined }))
    const names = async (query: string, weights?: ToolWeights) =>
      (await createFindTools({ registry, capabilities: search, weights }).run({ query }, context)).foundTools
    expect(await names('rain diary')).toEqual(['cap_rain_diary', 'cap_rain_radar', 'weather_forecast'])
    expect(await names('weather forecast')).toEqual(['weather_forecast'])
    expect(await names('monthly message')).toEqual(['schedule_message', 'cap_loan'])
    expect(await names('cap_loan')).toEqual(['cap_loan'])
    const weights = async () => new Map([['cap_rain_diary', 1]])
    expect((await names('rain'))?.slice(0, 2).sort()).toEqual(['cap_rain_diary', 'cap_rain_radar'])
    expect((await names('rain', weights))?.[0]).toBe('cap_rain_diary')
    await search.close()
    await home.close()
  })
})
