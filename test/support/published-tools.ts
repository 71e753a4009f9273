import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { manifestOf } from './contract-tools.ts'

/** The files of a tool in Python. `body` has `payload`, and prints. */
export function pythonTool(name: string, body: string, manifest: Parameters<typeof manifestOf>[1] = {}) {
  return {
    'manifest.json': JSON.stringify(manifestOf(name, manifest)),
    'runner.py': [
      'import base64, json, sys',
      'payload = json.loads(base64.b64decode(sys.argv[1]))',
      'params, settings, telemetry = payload["params"], payload["settings"], payload["telemetry"]',
      body,
    ].join('\n'),
  }
}

/** The files of a tool in bash. */
export function bashTool(name: string, body: string, manifest: Parameters<typeof manifestOf>[1] = {}) {
  return { 'manifest.json': JSON.stringify(manifestOf(name, manifest)), 'runner.sh': body }
}

const exampleFolder = join(import.meta.dirname, 'tool-example')

/** The example of the contract's documentation, rewritten: bash and jq, with a Dockerfile that installs them. */
export const toolExample: Record<string, string> = Object.fromEntries(
  readdirSync(exampleFolder).map((name) => [name, readFileSync(join(exampleFolder, name), 'utf8')]),
)
