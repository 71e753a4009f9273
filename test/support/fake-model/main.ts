import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { echo, type Responder, startFakeModel } from './start-fake-model.ts'

const USAGE = `usage: node main.ts [--port N] [--default echo|MODULE] [--requests-file FILE]
                    [--delay-ms N] [--chunk-delay-ms N]
  MODULE exports \`respond\`, a function from the request to a step.
  Prints {"url":…} and serves until it is stopped; GET /fake/stats counts.`

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '0' },
    default: { type: 'string', default: 'echo' },
    'delay-ms': { type: 'string' },
    'chunk-delay-ms': { type: 'string' },
    'requests-file': { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) {
  console.log(USAGE)
} else {
  const respond = await loadResponder(values.default)
  const pace = {
    ...(values['delay-ms'] === undefined ? {} : { delayMs: Number(values['delay-ms']) }),
    ...(values['chunk-delay-ms'] === undefined ? {} : { chunkDelayMs: Number(values['chunk-delay-ms']) }),
  }
  const server = await startFakeModel({
    port: Number(values.port),
    keepRequests: false,
    ...(values['requests-file'] === undefined ? {} : { requestsFile: values['requests-file'] }),
    script: async (request) => ({ ...pace, ...((await respond(request)) ?? echo(request)) }),
  })
  console.log(JSON.stringify({ url: server.url }))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void server.close())
}

async function loadResponder(name: string): Promise<Responder> {
  if (name === 'echo') return echo
  const module: { respond?: Responder } = await import(pathToFileURL(resolve(name)).href)
  if (!module.respond) throw new Error(`${name} exports no function named respond`)
  return module.respond
}
