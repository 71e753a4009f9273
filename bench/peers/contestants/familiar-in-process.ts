import { startDaemon } from '../../../src/daemon/daemon.ts'
import { serveAnswers } from '../../contestants/loop-server.ts'

const home = process.env.FAMILIAR_HOME ?? ''
const started = await startDaemon({ home, env: process.env, port: 0 })
if (!started.ok) throw new Error(JSON.stringify(started))
const { conversations, ownerId, close } = started.daemon
process.once('SIGTERM', () => void close(0).then(() => process.exit(0)))

const fixed = { channel: 'http', sender: 'bench', source: 'http', media: [], immediate: true, metadata: {} }

serveAnswers(async (text, contact) => {
  const { messageId } = await conversations.submit({ userId: ownerId, contact, text, ...fixed })
  const { outcome, text: reply } = await conversations.waitForTurn(messageId)
  if (outcome !== 'completed') throw new Error(`The turn ended as ${outcome}`)
  return reply
})
