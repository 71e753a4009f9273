import type { ModelRequest } from './fake-model/recorded-request.ts'
import type { Step, StepToolCall } from './fake-model/step.ts'
import type { Answer } from './local-site.ts'

/** The key of the weather service: a user enters it, and no model ever sees it. */
export const weatherKey = 'kestrel-41-lantern'

/** A weather service. One half of it is open; the other wants the key. */
export const answerWeather: Answer = ({ url, headers }, response) => {
  const { pathname, searchParams } = new URL(url, 'http://weather')
  if (pathname === '/keyed' && headers['x-key'] !== weatherKey) return response.writeHead(401).end('who are you?')
  response.end(JSON.stringify({ city: searchParams.get('city'), temperature: 21 }))
}

/**
 * A Builder like a real model: it writes, tries, fails, fixes, asks, gets a secret, is rejected, and registers. Its
 * next step depends on how often it has spoken, so that it continues after a crash.
 */
export function respondAsBuilder({ messages }: ModelRequest, host: string): Step {
  const spoken = messages.filter(({ role }) => role === 'assistant').length
  return buildSteps(host)[spoken] ?? { text: 'It is done.' }
}

export function isBuilder({ system }: Pick<ModelRequest, 'system'>): boolean {
  return system.startsWith('You build one capability')
}

function buildSteps(host: string): Step[] {
  const tries = 'from main import run\nprint(run({"city": "Austin"}))'
  return [
    {
      toolCalls: [
        call('report_progress', { message: 'Writing the first draft.' }),
        write('manifest.json', manifest(host)),
        write('main.py', main({ host, path: 'open', field: 'temp' })),
        write('examples.json', examples('°F')),
      ],
    },
    { toolCalls: [call('run_code', { code: tries, network: true })] },
    { toolCalls: [write('main.py', main({ host, path: 'open' })), call('run_code', { code: tries, network: true })] },
    { toolCalls: [call('ask_user', { question: 'Celsius or Fahrenheit?' })] },
    {
      toolCalls: [
        write('manifest.json', manifest(host, [{ name: 'WEATHER_KEY', description: 'Of the weather service' }])),
        call('request_secret', { name: 'WEATHER_KEY', description: 'The key of the weather service' }),
      ],
    },
    { toolCalls: [write('main.py', main({ host, path: 'keyed' })), call('register_capability', {})] },
    { toolCalls: [write('examples.json', examples('°C')), call('register_capability', { tags: ['weather'] })] },
  ]
}

function call(name: string, input: object): StepToolCall {
  return { name, input }
}

function write(path: string, content: string): StepToolCall {
  return call('write_file', { path, content })
}

function manifest(host: string, secrets: object[] = []): string {
  return JSON.stringify({
    name: 'weather_lookup',
    description: 'Look up the weather of a city.',
    runtime: 'python',
    input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    hosts: [host],
    secrets,
  })
}

function examples(unit: string): string {
  return JSON.stringify([{ input: { city: 'Austin' }, expect: { contains: `${unit} in Austin` } }])
}

/** Tells as well whether anything of a call before it is still there. */
function main({ host, path, field = 'temperature' }: { host: string; path: string; field?: string }): string {
  const key = path === 'keyed' ? 'context.secrets.WEATHER_KEY' : '""'
  return `import json
import os
import urllib.parse
import urllib.request


def run(args, context=None):
    is_fresh = not os.path.exists("/tmp/called")
    open("/tmp/called", "w").close()
    city = urllib.parse.urlencode({"city": args["city"]})
    request = urllib.request.Request("http://${host}/${path}?" + city, headers={"X-Key": ${key}})
    data = json.loads(urllib.request.urlopen(request).read())
    place = "a fresh sandbox" if is_fresh else "a used sandbox"
    return "%d °C in %s, from %s" % (data["${field}"], data["city"], place)
`
}
