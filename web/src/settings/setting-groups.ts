import type { Setting } from '../../../src/protocol/home-api.ts'

interface SettingGroup {
  name: string
  title: string
  about: string | undefined
  settings: Setting[]
}

const known: Readonly<Record<string, [title: string, about: string]>> = {
  agent: ['The agent', 'What it is called, how long it may work at a time, and which files it always has in mind.'],
  routes: ['Who answers what', 'Which model is used for what; see Models.'],
  providers: ['Providers', 'Which files of providers.d/ are read.'],
  budget: ['Budget', 'What may be spent, in dollars. Nothing is called past it.'],
  sessions: ['Conversations', 'How many at once, and how long it waits for the rest of a message.'],
  compaction: ['Long conversations', 'When the oldest part is summarised.'],
  memory: ['Memory', 'What is learnt by itself, how memories fade, and how meaning is found.'],
  tools: ['Tools', 'What it may use.'],
  capabilities: ['Capabilities', 'How tools are built and mended.'],
  sandbox: ['Sandbox', 'Where code runs.'],
  policy: ['Approvals', 'Where calls may go without asking, and how long a question stands.'],
  subagents: ['Sub-agents', 'Those that work for a conversation in the background.'],
  client_tools: ['Tools of clients', 'How long a client is waited for that runs a tool.'],
  assets: ['Files and blocks', 'Folders that can be read, and how much of the prompt blocks may take.'],
  skills: ['Skills', 'Folders of skills beside the workspace’s.'],
  mcp: ['MCP servers', 'Programs and addresses that bring tools.'],
  http: ['Where it listens', 'The address of this page and what may call it.'],
  egress: ['Own network', 'Hosts of your network that may be called.'],
  telegram: ['Telegram', 'Who may speak there.'],
  callback: ['Callback', 'Who is told of every message that was worked through.'],
  voice: ['Voice', 'Who writes down what is said.'],
  tiers: ['Tiers of users', 'What users may use and spend.'],
  log: ['Log', 'How much is written down.'],
}

/** By the table that they stand in: what people change most comes first, what nobody knows yet last. */
export function groupSettings(settings: readonly Setting[]): SettingGroup[] {
  const order = Object.keys(known)
  const place = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length)
  return [...Map.groupBy(settings, ({ key }) => key.split('.')[0] ?? key)]
    .sort(([one], [other]) => place(one) - place(other))
    .map(([name, members]) => ({ name, title: known[name]?.[0] ?? name, about: known[name]?.[1], settings: members }))
}
