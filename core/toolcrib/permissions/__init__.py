"""The permission question: may this call run, and which rule or policy says so?"""
