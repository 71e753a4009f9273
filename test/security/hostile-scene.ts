import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { createIds } from '../../src/base/ids.ts'
import { openLogger } from '../../src/base/logger.ts'
import { toStorableText } from '../../src/base/text.ts'
import { readBuiltManifest as readManifest } from '../../src/custom-tools/manifest.ts'
import { ModelError, type ModelRequest } from '../../src/models/model.ts'
import { createApprovals } from '../../src/security/approvals.ts'
import { createGrants } from '../../src/security/permissions.ts'
import type { Tool } from '../../src/tools/tool.ts'
import { serveHome } from '../e2e/serve-home.ts'
import { bashTool } from '../support/published-tools.ts'
import { approvalKey } from '../support/scripted-familiar.ts'
import { createScriptedModel, type ScriptedReply } from '../support/scripted-model.ts'
import { greeterFiles } from '../support/served-capabilities.ts'
import { skillText } from '../support/skills.ts'
import { hostileNames, hostileStrings, hostileText } from './hostile-strings.ts'
import { askBySecretLink } from './secret-link.ts'

/** Words to a model that answers with hostile text, calls a tool that does, or fails with it. */
export const say = { text: 'say it', tool: 'use the tool', fail: 'fail now', wait: 'wait for the end' }

/** A home in which everything that can come from elsewhere is hostile, served as by a daemon. */
export async function openHostileScene() {
  const clock = systemClock()
  const logs = mkdtempSync(join(tmpdir(), 'familiar-hostile-logs-'))
  const logger = openLogger({ level: 'debug', clock, redact: (text) => text, directory: logs })
  const name = hostileText(hostileNames.slice(0, 12)).replaceAll('\n', ' ')
  const over = Promise.withResolvers<void>()
  const model = createScriptedModel({
    async script(request) {
      if (JSON.stringify(request.messages.at(-1)).includes(say.wait)) await over.promise
      return answer(request)
    },
  })
  const manifest = { description: `Sends ${name}` }
  const opened = await serveHome({
    model: { primary: [model], fast: [] },
    tools: [probeTool()],
    logger,
    folderTools: { mail: bashTool('mail', 'true', manifest), broken: { 'manifest.json': `{"name": "${name}` } },
    skills: { guide: skillText('guide', '', hostileText()) },
    assets: true,
  })
  const { served, home } = opened
  const { familiar, capabilities } = served
  const { userId, database } = familiar

  await familiar.say(say.text)
  await familiar.say(say.tool)
  await familiar.say(say.fail)
  for (const { text } of hostileNames.slice(0, 40)) await familiar.say('Hello', { contact: text, sender: text })
  const ids: string[] = []
  for (const strings of groupsOf(hostileStrings, 10)) {
    const note = { userId, kind: 'note', content: hostileText(strings), source: 'user' } as const
    const { memory } = await familiar.memory.memories.add(note)
    ids.push(memory.id)
  }
  // The gate accepts no such description; the terminal must not rely on that.
  const read = readManifest(greeterFiles()['manifest.json'] ?? '')
  if (!read.ok) throw new Error(read.problems.join('\n'))
  await capabilities.capabilities.catalog.publish({
    manifest: { ...read.manifest, description: `Greets ${name}` },
    files: new Map([['main.py', Buffer.from(hostileText())]]),
    userId,
    origin: 'written',
    buildId: null,
    state: 'active',
  })
  const asked = await askBySecretLink(served, { name: 'weather', description: hostileText() })
  await capabilities.desk.report(asked.build, { callId: 'call-2', message: hostileText() })
  const plan = { message: hostileText(hostileStrings.slice(0, 50)), at: '2099-01-01T09:00', session: 'main' }
  await served.call({ path: '/api/v1/schedules', body: plan })
  const parts = { database, key: () => approvalKey, clock, ids: createIds(clock) }
  const approvals = createApprovals({ ...parts, grants: createGrants(parts), minutes: () => 60 })
  const call = { tool: name, arguments: { words: hostileText() }, destination: name, reason: hostileText() }
  const reach = { kind: 'reach', destination: name } as const
  const place = { userId, sessionId: (await familiar.say('Hello')).sessionId, turnId: 'turn', callId: 'call' }
  await database.write((writer) => approvals.ask(writer, { ...place, ...call, reach, isPatient: true }))
  const files = join(home, 'workspace', 'letters')
  mkdirSync(files, { recursive: true })
  for (const [index, { text }] of hostileNames.entries()) {
    if (!text.includes('/') && !text.includes('\u0000')) writeFileSync(join(files, text.slice(0, 80)), String(index))
  }
  writeFileSync(join(files, 'all.txt'), toStorableText(hostileText()))
  await familiar.learning.idle()
  await familiar.conversations.submit(familiar.inbound(say.wait, { contact: hostileNames[50]?.text ?? '' }))

  return {
    served,
    logger,
    home,
    memoryId: ids[0] ?? '',
    buildId: asked.build.id,
    /** Everything that was logged so far. */
    log: () =>
      readdirSync(logs)
        .map((file) => readFileSync(join(logs, file), 'utf8'))
        .join(''),
    async close() {
      over.resolve()
      await opened.close()
      logger.close()
      rmSync(logs, { recursive: true, force: true })
    },
  }
}

function answer(request: ModelRequest): ScriptedReply {
  const words = JSON.stringify(request.messages.at(-1))
  if (words.includes(say.fail)) throw new ModelError('rejected', hostileText(), { retryable: false, status: 400 })
  if (words.includes(say.tool)) return { toolCalls: [{ name: 'probe', input: { words: hostileText() } }] }
  return { text: hostileText(), thinking: hostileText(), deltaLength: 1_000 }
}

function probeTool(): Tool {
  return {
    definition: { name: 'probe', description: 'Answers.', inputSchema: { type: 'object' } },
    effect: 'idempotent',
    serial: false,
    core: true,
    aliases: [],
    reach: () => ({ kind: 'read', destination: null }),
    run: async (_input, context) => {
      context.progress(hostileText())
      return { text: hostileText(), isError: false, says: hostileText(hostileStrings.slice(0, 100)) }
    },
  }
}

function groupsOf<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size))
}
