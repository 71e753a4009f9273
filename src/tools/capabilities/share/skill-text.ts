import type { CapabilityManifest } from '../capability.ts'
import { describePermissions } from '../gate/describe-permissions.ts'

/** As the names of skills must be: small letters, digits and single hyphens between them. */
export function skillName(name: string): string {
  return name.replaceAll(/_+/g, '-').replace(/-$/, '')
}

const longestDescription = 1_024

// Secrets come from the environment there; what is kept between calls needs Familiar.
const commands = {
  python: `python3 -c 'import inspect, json, os, sys, types, main
given = json.loads(sys.argv[1]), types.SimpleNamespace(secrets=os.environ)
print(main.run(*given[: len(inspect.signature(main.run).parameters)]))' '{…}'`,
  node: `node --input-type=module -e 'import * as main from "./main.js"
const run = main.run ?? main.default.run
console.log(await run(JSON.parse(process.argv[1]), { secrets: process.env }))' '{…}'`,
} as const

/** Agents choose a skill by its description alone, so it also says how people ask for it. */
function describeSkill({ description, askedAs }: CapabilityManifest): string {
  const asked = askedAs.length > 0 ? ` For requests such as: ${askedAs.join(' / ')}` : ''
  return `${description}${asked}`.replaceAll(/\s+/g, ' ').slice(0, longestDescription).toWellFormed()
}

/** The SKILL.md of a capability, for whoever has no Familiar: what it is for, and how it is run by hand. */
export function skillText(
  manifest: CapabilityManifest,
  { version, hasRequirements }: { version: number; hasRequirements: boolean },
): string {
  const { name, runtime, inputSchema, secrets, storage } = manifest
  const description = describeSkill(manifest)
  const needs = runtime === 'python' ? 'Python 3.9 or newer' : 'Node.js 22.7 or newer'
  const language = runtime === 'python' ? 'main.py' : 'main.js'
  const given = [
    ...(secrets.length > 0 ? [`\`context.secrets\` holds ${secrets.map((secret) => secret.name).join(', ')}.`] : []),
    ...(storage ? ['`context.storage` has `get`, `set`, `delete` and `keys`.'] : []),
  ]
  return `---
name: ${skillName(name)}
description: ${JSON.stringify(description)}
compatibility: ${JSON.stringify(`Needs ${needs}.`)}
metadata:
  capability: ${JSON.stringify(name)}
  version: ${JSON.stringify(String(version))}
---

# ${name}

${manifest.description}

## Run it

\`${language}\` has a function \`run(args, context)\`, which may leave out the second.${given.map((line) => ` ${line}`).join('')}
It takes an object that fits this schema, and returns a text or an object:

\`\`\`json
${JSON.stringify(inputSchema, null, 2)}
\`\`\`

In this folder, by hand, with secrets from the environment and nothing kept between calls:

\`\`\`sh
${hasRequirements ? 'pip install -r requirements.txt\n' : ''}${commands[runtime]}
\`\`\`

\`examples.json\` has inputs, with what is expected of each.

## What it does beyond computing

${describePermissions(manifest)
  .map((line) => `- ${line}`)
  .join('\n')}

With Familiar: \`familiar caps import\` with this folder, then \`familiar caps enable ${name}\`.
`
}
