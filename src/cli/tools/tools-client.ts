import type { Json } from '../../protocol/json.ts'
import * as api from '../../protocol/tool-api.ts'
import type { ApiTransport } from '../api-transport.ts'

/** What can be asked of tools over HTTP, typed. */
export interface ToolsClient {
  list(): Promise<api.ToolSummaryReply[]>
  show(name: string): Promise<api.ToolReply>
  run(name: string, request: api.ToolRunRequest, signal: AbortSignal): Promise<api.ToolRunReply>
  /** Whether everything is set that it needs. */
  test(name: string): Promise<api.ToolTestReply>
  config(name: string): Promise<Record<string, Json>>
  setConfig(name: string, values: Record<string, Json>): Promise<Record<string, Json>>
  unset(name: string, key: string): Promise<Record<string, Json>>
  setEnabled(name: string, isEnabled: boolean): Promise<api.ToolReply>
  /** Has Familiar read again what this command has written beside it. */
  reload(name: string): Promise<api.ToolReply>
  calls(name: string, limit: number): Promise<api.ToolCallReply[]>
}

export function createToolsClient({ ask }: ApiTransport): ToolsClient {
  const one = (name: string, rest = '') => `/tools/${encodeURIComponent(name)}${rest}`
  const set = (name: string, values: Record<string, Json>) =>
    ask(one(name, '/config'), api.toolConfigReplySchema, { method: 'PUT', body: values })

  return {
    list: async () => (await ask('/tools', api.toolsReplySchema)).tools,
    show: (name) => ask(one(name), api.toolReplySchema),
    run: (name, request, signal) => ask(one(name, '/run'), api.toolRunReplySchema, { body: request, signal }),
    test: (name) => ask(one(name, '/test'), api.toolTestReplySchema, { body: {} }),
    config: async (name) => (await ask(one(name, '/config'), api.toolConfigReplySchema)).config,
    setConfig: async (name, values) => (await set(name, values)).config,
    async unset(name, key) {
      const path = one(name, `/config/${encodeURIComponent(key)}`)
      return (await ask(path, api.toolConfigReplySchema, { method: 'DELETE' })).config
    },
    setEnabled: (name, isEnabled) =>
      ask(one(name, isEnabled ? '/enable' : '/disable'), api.toolReplySchema, { body: {} }),
    reload: (name) => ask(one(name, '/reload'), api.toolReplySchema, { body: {} }),
    calls: async (name, limit) => (await ask(one(name, `/calls?limit=${limit}`), api.toolCallsReplySchema)).calls,
  }
}
