import { type CapabilityManifest, toolNameOf } from '../capability.ts'
import { describePermissions } from './describe-permissions.ts'

// So that the next version gets one that is true of it, and not this one.
const mark = '<!-- Made from manifest.json. Take this line out to keep what you write here. -->'

export function isMade(text: string): boolean {
  return text.includes(mark)
}

/** The RUN.md of a capability whose writer wrote none: what it does, how it is called, and what it may do. */
export function runText(manifest: CapabilityManifest): string {
  const { name, description, inputSchema } = manifest
  return `# ${name}

${description}

## Use

Call \`${toolNameOf(name)}\` with an object that fits this schema:

\`\`\`json
${JSON.stringify(inputSchema, null, 2)}
\`\`\`

From the command line: \`familiar caps run ${name} --args '{…}'\`

## What it may do

${describePermissions(manifest)
  .map((line) => `- ${line}`)
  .join('\n')}

${mark}
`
}
