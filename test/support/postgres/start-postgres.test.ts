import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { whyNoPostgres } from './start-postgres.ts'

const starter = `
  import { startPostgres } from ${JSON.stringify(new URL('./start-postgres.ts', import.meta.url).pathname)}
  const server = await startPostgres()
  console.log(JSON.stringify([server.directory, server.pid()]))
  setInterval(() => {}, 1000)
`

it.skipIf(whyNoPostgres())('a server ends with the tests that started it, even where those are killed', async () => {
  const tests = spawn(process.execPath, ['--input-type=module-typescript', '-e', starter], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(tests.stdout.setEncoding('utf8'), 'data')
  const [directory, pid] = JSON.parse(line) as [string, number]
  expect([existsSync(directory), existsSync(`/proc/${pid}`)]).toEqual([true, true])
  tests.kill('SIGKILL')
  while (existsSync(directory) || existsSync(`/proc/${pid}`)) await pause(50)
})
