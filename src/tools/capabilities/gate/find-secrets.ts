import type { Redactor } from '../../../secrets/redactor.ts'
import type { CapabilityFiles } from '../capability.ts'

// What keys look like at the services that people use most. Each takes time in proportion to the line.
const shapes: readonly [what: string, shape: RegExp][] = [
  ['a private key', /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY/],
  ['an API key', /\bsk-[A-Za-z0-9_-]{20,}/],
  ['an API key', /\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}/],
  ['a GitHub token', /\bgh[pousr]_[A-Za-z0-9]{30,}/],
  ['a GitHub token', /\bgithub_pat_[A-Za-z0-9_]{30,}/],
  ['a GitLab token', /\bglpat-[A-Za-z0-9_-]{20,}/],
  ['an AWS key', /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/],
  ['a Google key', /\bAIza[A-Za-z0-9_-]{35}/],
  ['a Slack token', /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/],
  ['a Telegram token', /\b[0-9]{8,10}:[A-Za-z0-9_-]{35}\b/],
  ['a signed token', /\beyJ[A-Za-z0-9_-]{10,999}\.eyJ[A-Za-z0-9_-]{10,999}\.[A-Za-z0-9_-]{10}/],
  ['a bearer token', /\bBearer\s{1,4}[A-Za-z0-9._~+/-]{30}/i],
]

/**
 * Where files hold what looks like a secret, or one that Familiar knows. Names the place and never the value: this is read
 * by a model.
 */
export function findSecrets(files: CapabilityFiles, redactor: Pick<Redactor, 'redact'>): string[] {
  const problems: string[] = []
  for (const [path, bytes] of files) {
    const text = new TextDecoder().decode(bytes)
    const lines = text.split('\n')
    const known = linesWithKnown(text, lines, redactor)
    for (const [index, line] of lines.entries()) {
      const what = known.has(index) ? 'a secret of yours' : shapes.find(([, shape]) => shape.test(line))?.[0]
      if (what !== undefined) problems.push(`${path}, line ${index + 1}: this is ${what}. ${advice}`)
    }
  }
  return problems
}

const advice = 'Take it out, declare its name under "secrets" in manifest.json and read it from context.secrets.'

function linesWithKnown(text: string, lines: readonly string[], { redact }: Pick<Redactor, 'redact'>): Set<number> {
  if (redact(text) === text) return new Set()
  const found = new Set(lines.flatMap((line, index) => (redact(line) === line ? [] : [index])))
  // It goes over several lines: the first that differs is where it begins.
  if (found.size === 0) {
    const redacted = redact(text).split('\n')
    found.add(
      Math.max(
        0,
        lines.findIndex((line, index) => line !== redacted[index]),
      ),
    )
  }
  return found
}
