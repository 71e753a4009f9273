const dataTag = /<(?=\/?\s*untrusted\b)/gi

/** Words of others as a model is told them: between two marks, neither of which they can make themselves. */
export function asData(text: string): string {
  return `<untrusted>\n${text.replaceAll(dataTag, '‹')}\n</untrusted>`
}
