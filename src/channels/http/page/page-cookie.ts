/** The half of a browser's proof that its scripts cannot read. */
export const pageCookie = 'familiar_page'
