interface HtmlPolicies {
  createPolicy(name: string, rules: { createHTML(text: string): string }): { createHTML(text: string): string }
}

const { trustedTypes } = globalThis as { trustedTypes?: HtmlPolicies }

/** The one policy that the page's own policy of content lets in, and only for a frame that has no rights at all. */
const policy = trustedTypes?.createPolicy('familiar-card', { createHTML: (text) => text })

/** The document of a card, as the browser takes it for `srcdoc` of a frame. For nothing else: it is HTML. */
export const frameHtml = (document: string): string => policy?.createHTML(document) ?? document
