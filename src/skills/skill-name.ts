/** As the format has it, and underscores: what tools of models and shells take without quotes. */
const skillName = /^[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?$/

export function isSkillName(text: string): boolean {
  return skillName.test(text)
}

/** The nearest that can be a name: `PDF Forms` is `pdf-forms`. Undefined where nothing is left. */
export function toSkillName(text: string): string | undefined {
  const name = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9_]+/g, '-')
    .slice(0, 64)
    .replaceAll(/^[-_]+|[-_]+$/g, '')
  return isSkillName(name) ? name : undefined
}
